"""The tick and everything that lives around it: modes, pacing, processes, preview, journal, wiring."""
