"""Drivers: one module per kind of controller, each with its settings, its codec and its `ArmLink`."""
