"""How processor time grows with what there is: every operation, command and page: ``python3 dev.py bench --growth``."""
