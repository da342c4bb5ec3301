"""The emulator for assistants: a server of the Model Context Protocol over the commands there are."""
