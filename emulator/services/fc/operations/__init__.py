"""The operations of Function Compute: parameters in, replies out. They stand above the service and its rooms."""
