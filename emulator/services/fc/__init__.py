"""Function Compute."""
