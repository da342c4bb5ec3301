"""Measurements a user can run: ``python3 dev.py bench``. Loopback only, a few minutes, one table."""
