"""First step of the polling tutorial: start a job and tell its id.

There is no job system behind it. `GetJobStatus` decides by time alone when the job is done.
"""

import logging
import uuid

logger = logging.getLogger()


def handler(event, context):
    """Return ``{"job_id": ...}`` with a fresh id."""
    job_id = str(uuid.uuid4())
    logger.info("started job %s", job_id)
    return {"job_id": job_id}
