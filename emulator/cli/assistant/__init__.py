"""A server of the Model Context Protocol for assistants, over the commands of the command line."""
