"""The hook for Python programs; the folder itself is put on ``PYTHONPATH`` to install it."""
