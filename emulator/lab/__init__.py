"""What tests of applications need, over all services: clock, quiet, faults, mocks, sinks, checkpoints."""
