"""The documentation as a site, and the parts of it that are generated from the program."""
