"""Commands, output and exit codes: 0 done, 1 refused or failed with a line that explains, 2 bad usage."""
