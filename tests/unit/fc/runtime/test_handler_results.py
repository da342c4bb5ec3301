"""What callers get back from Python handlers, byte for byte."""

import json

import pytest


@pytest.mark.parametrize(
    ("expression", "body"),
    [
        ("'text'", b"text"),
        ("'\\u4f60'", "你".encode()),
        ("b'\\x00\\xff'", b"\x00\xff"),
        ("None", b"null"),
        ("12.5", b"12.5"),
        ("True", b"true"),
        ("{'b': 1, 'a': [2, None]}", b'{\n    "a": [\n        2,\n        null\n    ],\n    "b": 1\n}'),
        ("{'k': '\\u4f60'}", b'{\n    "k": "\\u4f60"\n}'),
        ("decimal.Decimal('1.50')", b"1.5"),
        ("datetime.date(2024, 2, 29)", b'"2024-02-29"'),
        ("datetime.datetime(2024, 2, 29, 1, 2, 3)", b'"2024-02-29T01:02:03"'),
        ("Own()", b'{\n    "own": 1\n}'),
    ],
)
def test_result_is_converted_as_the_platform_does(functions, expression, body):
    """Text and bytes pass as they are; anything else becomes indented JSON with sorted keys."""
    code = f"""
        import datetime
        import decimal

        class Own:
            def to_json(self):
                return {{"own": 1}}

        def handler(event, context):
            return {expression}
    """

    result = functions.call(code)

    assert result.error_type is None
    assert result.body == body


def test_event_arrives_as_bytes(functions):
    """A Python 3 handler gets the raw bytes of the event, empty ones for no body."""
    image = functions.image("def handler(event, context): return repr(event)")

    results = functions.calls(image, b"", b"\x00\xffabc")

    assert [result.body for result in results] == [b"b''", rb"b'\x00\xffabc'"]


@pytest.mark.parametrize("expression", ["bytearray(b'x')", "{1, 2}", "object"])
def test_result_that_json_cannot_say_is_a_type_error(functions, expression):
    """The failure names the value and keeps the frames of the agent that tried."""
    result = functions.call(f"def handler(event, context): return {expression}")

    error = json.loads(result.body)
    assert result.error_type == "UnhandledInvocationError"
    assert error["errorType"] == "TypeError"
    assert error["errorMessage"] == repr(eval(expression)) + " is not JSON serializable"
    assert any("to_json" in frame[2] for frame in error["stackTrace"])


def test_exception_becomes_pretty_json_without_the_agents_frame(functions):
    """The body lists file, line, function and source of every frame of the user's code."""
    image = functions.image(
        """
        def inner():
            raise ValueError("something is wrong, really")

        def handler(event, context):
            inner()
        """
    )

    result = functions.calls(image, b"")[0]

    path = image.code_dir / "index.py"
    assert result.error_type == "UnhandledInvocationError"
    assert result.body.decode() == (
        "{\n"
        '    "errorMessage": "something is wrong, really",\n'
        '    "errorType": "ValueError",\n'
        '    "stackTrace": [\n'
        "        [\n"
        f'            "File \\"{path}\\"",\n'
        '            "line 5",\n'
        '            "in handler",\n'
        '            "inner()"\n'
        "        ],\n"
        "        [\n"
        f'            "File \\"{path}\\"",\n'
        '            "line 2",\n'
        '            "in inner",\n'
        '            "raise ValueError(\\"something is wrong, really\\")"\n'
        "        ]\n"
        "    ]\n"
        "}"
    )


def test_exception_without_user_frames_has_no_trace(functions):
    """A handler that takes the wrong number of arguments fails in the agent's own frame, which is left out."""
    result = functions.call("def handler(): pass")

    assert json.loads(result.body) == {
        "errorMessage": "handler() takes 0 positional arguments but 2 were given",
        "errorType": "TypeError",
    }


def test_code_without_source_lines_has_an_empty_source(functions):
    """Frames of code made by exec are listed with no source text."""
    result = functions.call(
        """
        def handler(event, context):
            exec("raise KeyError('x')")
        """
    )

    assert json.loads(result.body)["stackTrace"][-1] == ['File "<string>"', "line 1", "in <module>", ""]


def test_text_that_utf8_cannot_say_fails_the_call(functions):
    """A lone surrogate cannot be sent, and the instance goes on."""
    image = functions.image("def handler(event, context): return '\\ud800' if event else 'fine'")

    bad, good = functions.calls(image, b"x", b"")

    assert json.loads(bad.body)["errorType"] == "UnicodeEncodeError"
    assert good.body == b"fine"
    assert good.instance_id == bad.instance_id


def test_globals_survive_between_calls(functions):
    """A warm instance keeps what the module knows; only the first call is cold."""
    image = functions.image(
        """
        count = 0
        def handler(event, context):
            global count
            count += 1
            return count
        """
    )

    results = functions.calls(image, b"", b"", b"")

    assert [result.body for result in results] == [b"1", b"2", b"3"]
    assert [result.cold for result in results] == [True, False, False]
    assert len({result.instance_id for result in results}) == 1


def test_large_events_and_results_pass_unchanged(functions):
    """Megabytes in both directions take the same way."""
    event = bytes(range(256)) * 20000
    image = functions.image("def handler(event, context): return event + event", memory_mb=512)

    result = functions.calls(image, event)[0]

    assert result.body == event + event
