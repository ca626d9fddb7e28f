"""What may move: a checker for whole motions, a guard for live commands, a certificate between them."""
