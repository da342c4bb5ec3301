"""What callers may do: the policy language of RAM, read once and evaluated as a pure function of the request."""
