"""Shows `hil.lessons` in a window: scene, worksheet, time line."""
