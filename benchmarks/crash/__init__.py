"""The crash harness: loads an emulator, kills it at random instants, and holds it to what it acknowledged."""
