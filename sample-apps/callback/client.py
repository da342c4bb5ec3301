"""Start a task that waits for a callback, and let callback.py make it with the token found in the history."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from workflow_client import _, command_line, content_of, main, say

FLOW = "fnf-demo-callback"
TOKEN_SHOWN = 12


def wait_for_callback(session):
    """Run the flow once; true when it ends with the status that callback.py reports."""

    def call_back(event):
        if event["Type"] == "TaskSubmitted":
            token = content_of(event)["output"]["taskToken"]
            say(_("running {command}", command=f"callback.py {token[:TOKEN_SHOWN]}..."))
            script = [sys.executable, str(Path(__file__).with_name("callback.py"))]
            options = ["--sdk", session.given.sdk, "--endpoint", session.endpoint, "--region", session.region]
            subprocess.run([*script, *options, token], check=True)

    with session.flow(FLOW, Path(__file__).with_name("flow.yml")):
        finished = session.execute(FLOW, session.given.input, call_back)

    return finished["Status"] == "Succeeded" and json.loads(finished["Output"]) == {"s": "ok"}


if __name__ == "__main__":
    main(wait_for_callback, command_line("Start a task and report its result from another program.", "{}"))
