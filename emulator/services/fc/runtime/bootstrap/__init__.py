"""What runs inside function instances, one folder per language. Nothing in here imports the emulator."""
