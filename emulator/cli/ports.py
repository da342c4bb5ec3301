"""Whether a port of this machine is free."""

import socket


def is_taken(port: int) -> bool:
    """Tell whether some program listens on *port* of the loopback address; port 0 never is."""
    if port == 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
