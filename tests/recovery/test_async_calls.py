"""Asynchronous calls through kill -9: what was acknowledged runs, at least once, and tells its destination once."""

import contextlib
import json
import logging

import pytest
from mns.account import Account
from mns.mns_exception import MNSServerException
from mns.queue import QueueMeta

from tests.waiting import eventually

pytestmark = pytest.mark.recovery

CODE = """
import json, time
def handler(event, context):
    said = json.loads(event)
    with open(said["file"], "a") as file:
        file.write(f"{said['n']} {context.retry_count} {context.request_id}\\n")
    if said.get("fail") and context.retry_count < 1:
        raise ValueError("not yet")
    time.sleep(said.get("sleep", 0))
    return "done"
"""
ASYNC = {"x-fc-invocation-type": "Async"}


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def site(new_emulator, tmp_path):
    """An emulator with the function ``work/f`` in its folder, and a file the function writes to."""
    code = tmp_path / "functions" / "work" / "f"
    code.mkdir(parents=True)
    (code / "index.py").write_text(CODE)
    return new_emulator(tmp_path / "functions").start(), tmp_path / "notes"


@contextlib.contextmanager
def results_of(emulator):
    keys = emulator.keys
    account = Account(emulator.url, keys["accessKeyId"], keys["accessKeySecret"], logger=logging.getLogger("t"))
    queue = account.get_queue("results")
    queue.set_encoding(False)
    yield queue
    account.get_client().close_connection()


def call(client, **said):
    return client.invoke_function("work", "f", json.dumps(said).encode(), headers=ASYNC).headers["x-fc-request-id"]


def test_acknowledged_calls_survive_a_kill(site):
    """Those that waited, those that ran and the one in its pause before a retry all come to their end."""
    emulator, notes = site
    client = emulator.fc2()
    retried = call(client, n=-1, file=str(notes), fail=True)
    eventually(lambda: lines(notes))
    accepted = [call(client, n=number, file=str(notes), sleep=0.3) for number in range(40)]

    emulator.kill()
    emulator.start()
    eventually(lambda: {int(line.split()[0]) for line in lines(notes)} >= set(range(40)))
    eventually(lambda: f"-1 1 {retried}" in lines(notes))
    last = call(emulator.fc2(), n=99, file=str(notes))  # whatever would wrongly come once more is queued before it
    eventually(lambda: any(line.split()[2] == last for line in lines(notes)))
    runs = [line.split() for line in lines(notes)]

    assert {run[2] for run in runs} == {*accepted, retried, last}
    assert all(run[1] == "0" for run in runs if run[0] != "-1")
    assert len(runs) <= 2 + 40 + 1 + 20, "only calls that were running may have run twice"


def test_result_reaches_its_queue_once_after_a_kill(site):
    """The end of a call and its message are one."""
    emulator, notes = site
    with results_of(emulator) as queue:
        queue.create(QueueMeta())
    client = emulator.fc2()
    destination = {"onSuccess": {"destination": "acs:mns:::/queues/results/messages"}}
    client.put_function_async_invoke_config("work", "LATEST", "f", {"destinationConfig": destination})
    accepted = {call(client, n=number, file=str(notes), sleep=0.1) for number in range(20)}
    eventually(lambda: len(lines(notes)) > 10)
    emulator.kill()
    emulator.start()

    told = []

    with results_of(emulator) as queue:

        def receive():
            try:
                message = queue.receive_message(1)
            except MNSServerException:
                return len(told) >= 20
            told.append(json.loads(message.message_body)["requestContext"]["requestId"])
            queue.delete_message(message.receipt_handle)
            return False

        eventually(receive)

    assert sorted(told) == sorted(accepted)
