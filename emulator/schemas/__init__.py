"""JSON Schemas of the files that users write, for editors; written by ``python -m website.schemas`` from the tables."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""Where they are: ``NAME.json``."""
