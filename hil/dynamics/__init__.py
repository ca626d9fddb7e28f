"""Inverse and forward dynamics, mass matrix, gravity and energy of an arm."""
