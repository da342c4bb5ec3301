"""No reader takes more than its share for a long input: eight times the text costs eight times the work, or so.

A reader that is quadratic takes sixty-four times as much. Only CPU time counts, the best of several runs, and small
amounts never: the bound is wide, so that a busy machine does not fail what is linear.
"""

import contextlib
import time
from collections.abc import Callable

import pytest

from emulator.gateway.hosts import facts, normalise
from emulator.http.connections import HttpLimits
from emulator.http.message import decode_pairs
from emulator.http.reader import RequestReader
from emulator.kernel.cron import LENIENT, parse_schedule
from emulator.services.fc.triggers.http_envelope import read_result
from emulator.services.mns import codec as wire
from emulator.services.mns.operations import topics as topic_operations
from emulator.services.mns.queues import codec as message_wire
from emulator.services.mns.topics.model import read_endpoint
from emulator.services.workflow.languages.fdl.conditions import Condition
from emulator.services.workflow.languages.fdl.mappings import parse_source
from emulator.services.workflow.languages.programs import read_program as parse_flow
from emulator.wire.dates import parse_http_date, parse_iso
from emulator.wire.xml import parse as parse_xml
from emulator.wire.yaml import read_document
from tests.fuzz.targets import signatures

SHORT, LONG = 1_500, 12_000
MOST = 30
"""How many times as long the long input may take; eight would be linear, sixty-four is quadratic."""

IGNORED_S = 0.04
"""What takes less than this for the long input is quick enough, whatever it takes for the short one."""

UNITS = [
    "a", " ", "\r\n", "\n", "(", "[", "{", "a: ", "- ", "<a>", "<a b='c'/>", "&a;", "%41", "a=b&", "X: y\n", '"',
    "\\", ",", "1",
    "!", "$.a[0]", "$.a && ", "*", "é", "../", "1h", "#", "\x16\x03\x01\x00\x01\x01",
]  # fmt: skip


def read_requests(text: str) -> None:
    reader = RequestReader(HttpLimits(head_bytes=1 << 20, target_bytes=1 << 20))
    reader.feed(text.encode())
    while reader.head() is not None and reader.body(1 << 20) is not None:
        pass


def claim(text: str) -> None:
    for each in (signatures.mns, signatures.fc, signatures.oss, signatures.acs3, signatures.roa, signatures.rpc):
        each(text.encode())


READERS: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "requests": (read_requests, ["", "GET /", "GET / HTTP/1.1\r\nHost: a\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"]),
    "host": (lambda text: facts(normalise(text)), ["", "a.mns.", "[", "oss-"]),
    "pairs": (decode_pairs, ["", "a="]),
    "query": (wire.read_query, ["", "a="]),
    "xml": (lambda text: parse_xml(text.encode()), ["", "<a>", "<a ", "<a b='"]),
    "message": (lambda text: message_wire.read_drafts(text.encode()), ["<Message><MessageBody>", "<Messages>"]),
    "topic message": (lambda text: topic_operations.read_publish(text.encode()),
    ["<Message><MessageAttributes><DirectMail>"]),
    "endpoint": (read_endpoint, ["", "http://", "acs:mns:", "mail:directmail:"]),
    "flow": (parse_flow, ["", "version: v1\ntype: flow\nsteps:\n", "{", "a: '", 'a: "', "a: |\n "]),
    "condition": (Condition.parse, ["", "$.a == ", '"', "`", "[", "$['"]),
    "source": (parse_source, ["$input", "$input[", "$input['", "$.a"]),
    "schedule": (lambda text: parse_schedule(text, LENIENT), ["", "@every ", "0 0 0 ", "CRON_TZ=", "CRON_TZ=UTC 0 "]),
    "dates": (lambda text: (parse_iso(text), parse_http_date(text)), ["", "2026-01-01T00:00:00."]),
    "yaml": (read_document, ["a: '", "# ", "a: |\n "]),
    "result": (lambda text: read_result(text.encode()), ["", '{"statusCode": 200, "body": "', '{"statusCode": "', "["]),
    "signatures": (claim, ["GET /", "GET /?Action=a&", "GET /\nAuthorization: ",
    "GET /\nAuthorization: OSS4-HMAC-SHA256 ",
    "POST /\nContent-Type: application/x-www-form-urlencoded\nAuthorization: acs k:s\n\n"]),
}  # fmt: skip


def cost_of(read: Callable[[str], object], text: str) -> float:
    """Return the CPU seconds one reading takes, whether it succeeds or not."""
    start = time.process_time()
    with contextlib.suppress(Exception):  # what may be raised is the targets' affair
        read(text)
    return time.process_time() - start


@pytest.mark.parametrize("name", READERS)
def test_a_long_text_costs_its_share(name):
    """Repetition of whatever the grammar has, behind whatever it begins with."""
    read, starts = READERS[name]
    slow = []

    for start in starts:
        for unit in UNITS:
            short, long = (start + unit * (size // len(unit)) for size in (SHORT, LONG))
            if cost_of(read, long) < IGNORED_S:
                continue
            ratio = min(cost_of(read, long) for _ in range(2)) / max(1e-4, min(cost_of(read, short) for _ in range(2)))
            if ratio > MOST:
                slow.append((start, unit, round(ratio)))

    assert slow == []
