"""Usage: what the cloud would meter, kept over restarts, and its cost by a price list."""
