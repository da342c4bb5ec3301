"""Paths, mappings and conditions of the flow language. No I/O, no eval."""
