"""MELFA-BASIC IV: grammar, points, interpreter, motion as the CR1 makes it, lint."""
