"""Empty: whoever takes a picture fails."""
