"""What a lab owner does at the bench: find adapters, mend the computer, write rigs, calibrate, jog."""
