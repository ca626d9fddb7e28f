"""Figures for print: one engine for every picture that a command or the window writes.

`options` says how large and of which format, and refuses before any work is done; `sheet` is the page with its title,
panels, key and notes; `time_axis`, `events` and `looks` are what panels have in common. Matplotlib is imported only
where something is drawn, by its object-oriented interface; what a user's own matplotlibrc says changes nothing.
"""
