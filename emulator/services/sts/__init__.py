"""Temporary credentials."""
