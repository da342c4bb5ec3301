"""The operations of the message service, of its XML and its management API: parameters in, replies out."""
