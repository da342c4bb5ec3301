"""Run a flow that retries one error and redirects the other, and check which error reached the final step."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from workflow_client import _, command_line, main, say

FLOW = "fnf-demo-troubleshooting"
MOST_RETRIES = 3


def handle_errors(session):
    """Run the flow once; true when the errors were retried and redirected as the input asks for."""
    failures = json.loads(session.given.input)["failures"]
    if not isinstance(failures, int) or failures < 0:
        say(_("failures must be a number from 0"))
        return False

    with session.flow(FLOW, Path(__file__).with_name("flow.yml")):
        finished = session.execute(FLOW, session.given.input)

    output = json.loads(finished.get("Output") or "{}")
    cause = json.loads(output.get("errMsg") or "{}")
    say(_("the final step got {error}: {message}", error=output.get("errCode"), message=cause.get("errorMessage")))
    failed = [event for event in finished["Events"] if event["Type"] == "TaskFailed" and event["StepName"] == "retried"]
    recovers = failures <= MOST_RETRIES
    return (
        finished["Status"] == "Succeeded"
        and len(failed) == (failures if recovers else MOST_RETRIES + 1)
        and output.get("errCode") == ("ValueError" if recovers else "ErrorNeedsRetry")
    )


if __name__ == "__main__":
    main(handle_errors, command_line("Retry one error and redirect another.", '{"failures": 2}'))
