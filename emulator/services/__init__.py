"""The emulated services. They never import one another; `emulator.joining` joins them through ports."""
