"""How user code runs: instances are child processes, kept warm and shared by calls of the same image."""
