"""Sessions: calls of one client that go to one instance, by header, by cookie, or by what MCP servers answer."""
