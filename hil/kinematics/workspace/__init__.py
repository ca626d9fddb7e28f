"""Workspaces: what an arm reaches when its joints sweep their ranges, and what a box asks of the joints."""
