"""The ports of the services, each filled with another service's public methods."""
