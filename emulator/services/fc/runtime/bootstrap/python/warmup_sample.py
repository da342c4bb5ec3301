"""The function that a waiting process calls to warm up."""

import json


def handler(event, context):  # type: ignore[no-untyped-def]  # written like a user's function
    """Return the event."""
    return json.loads(event)
