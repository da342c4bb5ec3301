"""Report that a waiting task is done: callback.py TASK_TOKEN."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from workflow_client import _, command_line, main, say


def report(session):
    """Send the result in --input to the flow that waits for the token."""
    output = json.dumps(json.loads(session.given.input))
    session.call("ReportTaskSucceeded", TaskToken=session.given.token, Output=output)
    say(_("{program}: reported {output}", program="callback.py", output=output))
    return True


if __name__ == "__main__":
    parser = command_line("Report the success of a task that waits for a callback.", '{"status": "ok"}')
    parser.add_argument("token", metavar="TASK_TOKEN", help="from the output of the event TaskSubmitted")
    main(report, parser)
