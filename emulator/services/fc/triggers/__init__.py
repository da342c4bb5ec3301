"""Triggers: what calls a function besides InvokeFunction, their events and how they fire."""
