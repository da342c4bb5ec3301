"""Recordings of the real service beside the emulator: read, sent again, told apart, and redacted for others."""
