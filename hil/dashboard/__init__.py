"""The window: a client of the bridge service like any other, in a process of its own. One file a view."""
