"""Called through an alias by the tutorial on versions; setting it up takes a while, as real set-ups do."""

import logging
import time

logger = logging.getLogger()

SET_UP_S = 0.3


def initialize(context):
    """Get ready for calls: once per instance, before its first call; a provisioned instance does it ahead."""
    time.sleep(SET_UP_S)  # stands for connections, models and caches
    logger.info("ready")


def handler(event, context):
    """Return ``{"success": true}``."""
    logger.info("called")
    return {"success": True}
