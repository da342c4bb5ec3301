"""Asynchronous invocation: queued calls, their retries, destinations and task records."""
