"""Checkpoints: the whole state saved under a name, restored later, moved to another machine as an archive."""
