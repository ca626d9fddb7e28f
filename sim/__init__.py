"""What stands in for the world: simulated arms, emulated controllers, lines to them, scripted faults."""
