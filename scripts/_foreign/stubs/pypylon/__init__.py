"""Stands for the driver of a camera that nobody looks through here."""
