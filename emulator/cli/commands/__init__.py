"""The commands of the command line, a module per group; each but ``start`` is a client of the HTTP API."""
