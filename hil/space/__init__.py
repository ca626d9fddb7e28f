"""The room that an arm has: its shapes, what they keep clear of, and how a place where it should not be may be left."""
