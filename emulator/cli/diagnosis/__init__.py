"""What `doctor` looks at and what `support` packs."""
