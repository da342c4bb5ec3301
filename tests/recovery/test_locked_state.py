"""Another program, such as a database browser, holds the lock on the state file: who does not need it is served."""

import concurrent.futures
import re
import sqlite3
import sys
import time
from contextlib import closing

import pytest

from emulator.auth import mns as mns_scheme
from emulator.http.message import Headers, Request
from emulator.wire.dates import http_date
from tests.waiting import eventually

pytestmark = [
    pytest.mark.recovery,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="locks of other systems keep readers away too"),
]


def mns(emulator, method, target, body=""):
    content = body.encode()
    headers = [
        ("Host", emulator.address),
        ("Date", http_date(time.time_ns() // 1_000_000)),
        ("Content-Type", "text/xml"),
        ("x-mns-version", "2015-06-06"),
    ]
    request = Request(method, target, Headers(headers), content)
    signed = mns_scheme.authorization(request, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"])
    named = {name.replace("-", "_"): value for name, value in [*headers, ("Authorization", signed)]}
    status, _, answer = emulator.get(target, method, content, **named)
    return status, answer.decode()


def send(emulator, body):
    text = f"<Message><MessageBody>{body}</MessageBody></Message>"
    return mns(emulator, "POST", "/queues/q/messages", text)[0]


def test_calls_that_write_wait_and_the_others_are_answered(new_emulator):
    """A send waits and is kept, with those that come after it; health and what only reads are answered meanwhile."""
    emulator = new_emulator().start()
    assert mns(emulator, "PUT", "/queues/q")[0] == 201
    assert send(emulator, "before") == 201

    with (
        closing(sqlite3.connect(emulator.state / "state.db", isolation_level=None)) as other,
        concurrent.futures.ThreadPoolExecutor(4) as pool,
    ):
        other.execute("BEGIN IMMEDIATE")
        waiting = [pool.submit(send, emulator, f"meanwhile {number}") for number in range(3)]
        eventually(lambda: "holds the lock" in emulator.output())
        answered = [emulator.get("/_localyun/health")[0] for _ in range(20)]
        shown = mns(emulator, "GET", "/queues/q")
        peeked = mns(emulator, "GET", "/queues/q/messages?peekonly=true")
        unanswered = [each.done() for each in waiting]
        other.execute("ROLLBACK")
        sent = [each.result(30) for each in waiting]

    assert answered == [200] * 20
    assert (shown[0], peeked[0]) == (200, 200)
    assert unanswered == [False] * 3
    assert sent == [201] * 3
    emulator.kill()
    emulator.start()
    bodies = mns(emulator, "GET", "/queues/q/messages?numOfMessages=16")[1]
    assert sorted(re.findall("<MessageBody>(.*?)</MessageBody>", bodies)) == [
        "before", "meanwhile 0", "meanwhile 1", "meanwhile 2"
    ]  # fmt: skip
