"""One step of the transaction tutorial: buy, reserve or cancel something, or fail on demand."""

import json
import logging
import uuid

logger = logging.getLogger()


def handler(event, context):
    """Return JSON text with ``{name: "success", name_txnID: ...}``, *name* being the event's ``operation``.

    When the event has a key of that name with the JSON value false, the process ends instead: a crash, which a flow
    sees as FC.Unknown. Any other value, the text "fail" too, is a success.
    """
    asked = json.loads(event)
    name = asked.get("operation", "operation")
    if name in asked and asked[name] is False:
        logger.error("%s failed", name)
        exit()  # as a crash does it; raising would give the error a name of its own
    logger.info("%s succeeded", name)
    return json.dumps({name: "success", f"{name}_txnID": str(uuid.uuid4())})
