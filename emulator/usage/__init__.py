"""Usage: what the cloud would meter for what ran here, kept over restarts, and what it would cost by a price list."""
