"""Receive tasks from the queue fnf-demo, report each as done and delete its message; runs until interrupted."""

import json
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from message_client import message_account
from workflow_client import ServiceRefused, _, command_line, main, say

QUEUE = "fnf-demo"
WAIT_S = 10
PAUSE_S = 2


def work(session):
    """Serve the queue until as many tasks are reported as --tasks asks for; 0 goes on for ever."""
    from mns.mns_exception import MNSExceptionBase

    queue = message_account(session).get_queue(QUEUE)
    queue.set_encoding(False)
    reported = 0
    while not session.given.tasks or reported < session.given.tasks:
        try:
            say(_("worker: receiving messages"))
            message = queue.receive_message(WAIT_S)
            say(_("worker: received {id}: {body}", id=message.message_id, body=message.message_body))
            reported += report(session, json.loads(message.message_body)["task_token"])
            queue.delete_message(message.receipt_handle)
            say(_("worker: deleted {id}", id=message.message_id))
        except MNSExceptionBase as error:
            say(_("worker: {error}: {message}", error=error.type, message=error.message))
            if error.type != "MessageNotExist":  # an empty queue has been waited for; anything else answers at once
                time.sleep(PAUSE_S)
    return True


def report(session, token):
    """Report the task as done; false when another delivery of the same message was faster."""
    try:
        session.call("ReportTaskSucceeded", TaskToken=token, Output=session.given.input)
    except ServiceRefused as error:
        if error.code != "TaskAlreadyCompleted":
            raise
        say(_("worker: the task is completed already"))
        return False
    say(_("worker: report finished"))
    return True


if __name__ == "__main__":
    parser = command_line("Work for flows that send tasks to the queue fnf-demo.", '{"key": "value"}')
    parser.add_argument("--tasks", type=int, default=0, help="end after so many tasks (default: never)")
    main(work, parser)
