"""Lessons as data, no screen: what is drawn at which moment, and the numbers beside it, as the commands print them."""
