"""Where a tool goes in space: curves and paths, without time."""
