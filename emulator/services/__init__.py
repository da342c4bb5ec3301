"""The emulated services. They never import one another; `emulator.composition` joins them through ports."""
