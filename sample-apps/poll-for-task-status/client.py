"""Start a job and ask for its status every ten seconds until it is done or the flow gives up."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from workflow_client import command_line, main

FLOW = "fnf-demo-poll-for-task-status"


def poll(session):
    """Run the flow once; true when the job was done in time."""
    with session.flow(FLOW, Path(__file__).with_name("flow.yml"), keep=True):
        finished = session.execute(FLOW, session.given.input)

    return finished["Status"] == "Succeeded"


if __name__ == "__main__":
    main(poll, command_line("Run the polling flow and show its history as it happens.", '{"delay": 20}'))
