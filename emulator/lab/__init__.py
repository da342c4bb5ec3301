"""Tools for tests of applications, over all services: clock, waiting until idle, faults, mocks, sinks, checkpoints."""
