"""Checkpoints: the whole state kept under a name, put back later, carried to another machine as an archive."""
