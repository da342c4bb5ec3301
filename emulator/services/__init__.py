"""The emulated services. They never import one another; `emulator.app` joins them through ports."""
