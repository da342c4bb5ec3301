"""The resources of an account: services, functions, versions, aliases, tags, layers, and the functions folder."""
