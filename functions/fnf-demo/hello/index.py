"""What the schedule tutorial's flow calls each minute."""

import json
import logging

logger = logging.getLogger()


def handler(event, context):
    """Return JSON text that greets the world."""
    logger.info("called with %s", event.decode())
    return json.dumps({"name": "hello world"})
