"""The agents that run inside function instances, one folder per language. They do not import the emulator."""
