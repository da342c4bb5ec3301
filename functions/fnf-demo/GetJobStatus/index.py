"""Asked again and again by the polling tutorial: is the job done yet?

The job counts from the second in which this instance was loaded. Instances stay warm between calls and keep their
module variables, so later calls see the same start time; a new instance starts to count anew.
"""

import json
import logging
import time

logger = logging.getLogger()

start_time = int(time.time())

DEFAULT_DELAY_S = 60


def handler(event, context):
    """Return ``job_id``, ``job_status`` and ``try_count`` raised by one.

    The event is JSON with ``job_id`` and, if wanted, ``delay`` (seconds until the job is done, 60 when left out) and
    ``try_count`` (how often the status has been asked for, 0 when left out).
    """
    asked = json.loads(event)
    job_id = asked["job_id"]
    delay = asked["delay"] if "delay" in asked else DEFAULT_DELAY_S
    try_count = asked.get("try_count", 0) + 1

    elapsed = int(time.time()) - start_time
    job_status = "success" if elapsed > delay else "running"

    logger.info("job %s is %s after %d s (query %d)", job_id, job_status, elapsed, try_count)
    return {"job_id": job_id, "job_status": job_status, "try_count": try_count}
