"""The emulator, noting who called what: run by the tests in the place of ``python -m emulator`` while `plugin` asks.

A line of JSON for each request: the client's User-Agent, service and operation.
"""

import json
import os
import sys

from emulator.cli.main import main
from emulator.gateway.traffic import AccessLog

VARIABLE = "LOCALYUN_CONFORMANCE"
"""Names the file that lines are added to."""


def note_requests(path):
    """Have the access log add a line to *path* for each answer."""
    answered = AccessLog.answered
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def noting(log, front, call, response, started=None):
        answered(log, front, call, response, started)
        line = {
            "agent": call.http.headers.get("user-agent"),
            "service": front.name if front is not None else "",
            "operation": call.operation,
        }
        os.write(target, json.dumps(line).encode() + b"\n")

    AccessLog.answered = noting


if __name__ == "__main__":
    note_requests(os.environ.pop(VARIABLE))
    sys.exit(main())
