"""Comparing recordings of the real service with the emulator: reading, sending again, comparing answers, redacting."""
