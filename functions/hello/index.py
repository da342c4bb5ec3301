"""The smallest function: a folder with code directly under functions/ is a function without a service."""

import json
import logging

logger = logging.getLogger()


def handler(event, context):
    """Greet the ``name`` of a JSON event, or the world."""
    try:
        asked = json.loads(event or b"{}")
    except ValueError:
        asked = {}
    name = asked.get("name", "world") if isinstance(asked, dict) else "world"
    logger.info("greeting %s", name)
    return {"message": f"Hello, {name}!"}
