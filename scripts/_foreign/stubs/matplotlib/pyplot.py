"""Empty: whoever draws fails."""
