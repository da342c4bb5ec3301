"""Message Service (MNS, today SMQ)."""
