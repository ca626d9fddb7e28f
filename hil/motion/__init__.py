"""Motion: task files, jerk-limited profiles, joint moves, straight lines and stops; all give a `Motion`."""
