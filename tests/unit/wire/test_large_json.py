"""Large JSON bodies: decoded like any other, piece by piece, unless they are large all over."""

import json
import random

import pytest

from emulator.wire.large_json import STRUCTURE_BYTES, TooMuchStructure, loads


@pytest.mark.parametrize(
    "document",
    [
        {"code": {"zipFile": "A" * 1_000_000}, "name": "f"},
        ["é" * 70_000, "b" * 70_000, "b" * 70_000, "short", 'quoted " text', "back\\slash\\"],
        {"k" * 70_000: 1, "text 0": "text 0"},
        {"escaped": 'x"y' * 50_000, "lines": "a\n" * 50_000},
        "x" * 70_000,
        [],
        {"": ""},
    ],
    ids=["package", "texts", "name", "escapes", "bare", "empty", "blank"],
)
def test_the_result_is_that_of_the_standard_decoder(document):
    for text in (json.dumps(document), json.dumps(document, ensure_ascii=False, indent=1)):
        assert loads(text.encode()) == document


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": "' + b"x" * 100_000, b'"' + b"x" * 100_000 + b'\n"', b'"' + b"\xff" * 100_000 + b'"',
        b'["' + b"\\" * 99_999 + b'"]',
    ],
    ids=["open", "control", "no text", "backslashes"],
)  # fmt: skip
def test_what_is_no_json_is_refused(body):
    with pytest.raises(ValueError):
        json.loads(body)
    with pytest.raises(ValueError):
        loads(body)


@pytest.mark.parametrize("item", [b'{"a":"b"},', b"1,", b'"' + b"x" * 1000 + b'",', b'"\\"",'])
def test_a_body_that_is_large_all_over_is_refused(item):
    body = b"[" + item * (2 * STRUCTURE_BYTES // len(item)) + b"1]"

    with pytest.raises(TooMuchStructure):
        loads(body)


def test_any_bytes_are_decoded_or_refused_alike():
    """Quotes, backslashes and long texts in any order."""
    chance = random.Random(1)
    pieces = [b'"', b"\\", b"\\\\", b'\\"', b"a", b"x" * 70_000, b",", b"[", b"]", b":", b" "]
    for _ in range(3_000):
        body = b"[" + b"".join(chance.choices(pieces, k=chance.randint(1, 9))) + b"]"
        try:
            expected = json.loads(body)
        except ValueError:
            with pytest.raises(ValueError):
                loads(body)
        else:
            assert loads(body) == expected
