"""HTTP/1.1: messages, the server protocol, a small client, certificates. Nothing of any service."""
