"""Courses of a lab: who is in them, which exercises they have, what was handed in and what came of it."""
