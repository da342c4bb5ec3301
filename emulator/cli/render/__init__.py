"""How executions are shown on a terminal: as trees of text."""
