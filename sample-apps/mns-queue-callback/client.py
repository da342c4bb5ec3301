"""Start a worker, and a flow that gives it a task through the queue fnf-demo."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from message_client import message_account
from workflow_client import _, command_line, main, say

FLOW = "fnf-demo-mns-queue-callback"
QUEUE = "fnf-demo"
WORKER_ENDS_WITHIN_S = 30


def send_task(session):
    """Run flow and worker once; true when the execution's output is what the worker reports."""
    with queue(session), worker(session) as process, session.flow(FLOW, Path(__file__).with_name("flow.yml")):
        finished = session.execute(FLOW, session.given.input)
        worked = process.wait(WORKER_ENDS_WITHIN_S) == 0

    return worked and finished["Status"] == "Succeeded" and json.loads(finished["Output"]) == {"key": "value"}


@contextmanager
def queue(session):
    """Make the queue unless it is there; one that was not there before is deleted at the end."""
    from mns.mns_exception import MNSServerException
    from mns.queue import QueueMeta

    made = message_account(session).get_queue(QUEUE)
    try:
        made.get_attributes()
        existed = True
    except MNSServerException as error:
        if error.type != "QueueNotExist":
            raise
        made.create(QueueMeta())
        existed = False
    try:
        if not existed:
            say(_("queue {name} created", name=QUEUE))
        yield
    finally:
        if not existed and not session.keeps:
            made.delete()
            say(_("queue {name} deleted", name=QUEUE))


@contextmanager
def worker(session):
    """Run worker.py for one task; it is ended when it is still there."""
    script = [sys.executable, str(Path(__file__).with_name("worker.py")), "--tasks", "1"]
    options = ["--sdk", session.given.sdk, "--endpoint", session.endpoint, "--region", session.region]
    process = subprocess.Popen([*script, *options])
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(send_task, command_line("Give a task to a worker outside through a queue.", "{}"))
