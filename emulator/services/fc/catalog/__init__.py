"""What an account has: services, functions, versions, aliases, tags, layers, domains, and the functions folder."""
