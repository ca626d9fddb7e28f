"""A controlled arm in simulation: reference, controller, arm, cost, and the search for gains."""
