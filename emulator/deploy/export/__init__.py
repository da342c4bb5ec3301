"""Export: the resources of an emulator, written as files for the cloud's own tools, or compared with such files."""
