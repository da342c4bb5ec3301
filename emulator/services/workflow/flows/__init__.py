"""Flows, their versions and aliases."""
