"""The function that a zygote calls to warm up; see `zygote.warm_up`."""

import json


def handler(event, context):  # type: ignore[no-untyped-def]  # written like a user's function
    """Return the event."""
    return json.loads(event)
