"""Capacity: limits on the instances of a function, instances kept ready, the switch that disables a function."""
