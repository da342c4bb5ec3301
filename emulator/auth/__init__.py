"""Who is calling: one module per signature scheme, keys, and the reasons a request is refused."""
