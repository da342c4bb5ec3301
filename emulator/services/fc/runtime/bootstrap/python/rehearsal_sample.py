"""The function that `rehearsal` calls."""

import json


def handler(event, context):  # type: ignore[no-untyped-def]  # written like a user's function
    """Return the event."""
    return json.loads(event)
