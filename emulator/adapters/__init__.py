"""What one service needs from another: each port filled with the other service's public methods."""
