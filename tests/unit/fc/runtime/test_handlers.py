"""From a handler string to a function, and from what that returns to what callers get, byte for byte."""

import json
import os
import py_compile
from pathlib import Path

import pytest


async def load_error(functions, handler="index.handler", code="", **files):
    image = functions.image(code, handler=handler)
    for name, text in files.items():
        (image.code_dir / f"{name}.py").write_text(text)
    result = (await functions.calls(image, b""))[0]
    return result, image


async def test_missing_module_is_an_import_module_error(functions):
    """The trace names the module the way the finder before Python 3.12 does."""
    result, _ = await load_error(functions, handler="nowhere.handler")

    assert result.body.decode() == (
        "{\n"
        '    "errorMessage": "Unable to import module \'nowhere\'",\n'
        '    "errorType": "ImportModuleError",\n'
        '    "stackTrace": [\n'
        "        \"ImportError: No module named 'nowhere'\"\n"
        "    ]\n"
        "}"
    )
    assert result.error_type == "UnhandledInvocationError"


async def test_missing_import_inside_the_module_names_what_is_missing(functions):
    """The outer message is that of the entry module, the trace that of the import."""
    result, _ = await load_error(functions, code="import not_there_at_all")

    assert json.loads(result.body) == {
        "errorMessage": "Unable to import module 'index'",
        "errorType": "ImportModuleError",
        "stackTrace": ["ModuleNotFoundError: No module named 'not_there_at_all'"],
    }


async def test_syntax_error_lists_file_line_and_source(functions):
    """The first line of the trace is split at its commas and carets are gone."""
    result, image = await load_error(functions, code="x = 1\n\ndef broken(:\n    pass\n")

    error = json.loads(result.body)
    assert error["errorType"] == "UserCodeSyntaxError"
    assert error["errorMessage"] == "Syntax error in module 'index'"
    assert error["stackTrace"][:3] == [f'File "{image.code_dir / "index.py"}"', "line 3", "def broken(:"]
    assert error["stackTrace"][3].startswith("SyntaxError: ")
    assert len(error["stackTrace"]) == 4


@pytest.mark.parametrize(
    ("chosen", "after"), [("", "usual"), ("gc.set_threshold(5, 6, 7)", "chosen"), ("gc.disable()", "off")]
)
async def test_no_garbage_is_looked_for_while_a_module_is_loaded(functions, chosen, after):
    """It looks for some from then on, unless the module has chosen something else."""
    code = f"""
import gc
while_loading = gc.get_threshold()[0]
{chosen}
def handler(event, context):
    threshold = gc.get_threshold()
    kept = "chosen" if threshold == (5, 6, 7) else "usual" if threshold[0] > 5 else "none"
    return [while_loading, kept if gc.isenabled() else "off"]
"""
    image = functions.image(code)
    result = (await functions.calls(image, b""))[0]

    assert json.loads(result.body) == [0, after]


async def test_handler_without_a_dot_is_an_invalid_name(functions):
    """Nothing is imported for it."""
    result, _ = await load_error(functions, handler="xyz")

    error = json.loads(result.body)
    assert (error["errorType"], error["errorMessage"]) == ("InvalidHandleName", "Invalid handler 'xyz'")


async def test_value_error_while_importing_is_an_invalid_name(functions):
    """The platform cannot tell the two apart; the message has the module's name."""
    result, _ = await load_error(functions, code="raise ValueError('no')")

    error = json.loads(result.body)
    assert error == {
        "errorMessage": "Invalid handler 'index'",
        "errorType": "InvalidHandleName",
        "stackTrace": ["ValueError: no"],
    }


async def test_other_exception_while_importing_is_a_user_code_error(functions):
    """The text of the exception is in the message."""
    result, _ = await load_error(functions, code="1 / 0")

    assert json.loads(result.body) == {
        "errorMessage": "Module initialization error: 'division by zero'",
        "errorType": "UserCodeError",
        "stackTrace": ["ZeroDivisionError: division by zero"],
    }


async def test_missing_attribute_is_handler_not_found(functions):
    """The module is there, the function is not."""
    result, _ = await load_error(functions, code="x = 1")

    assert json.loads(result.body) == {
        "errorMessage": "Handler 'handler' is missing on module 'index'",
        "errorType": "HandlerNotFound",
        "stackTrace": ["AttributeError: module 'index' has no attribute 'handler'"],
    }


async def test_load_failure_is_logged_as_a_dictionary(functions):
    """Load failures appear in the log as Python writes a dict, on a line of the root logger."""
    result, _ = await load_error(functions, handler="xyz")

    assert (
        b"[ERROR] {'errorMessage': \"Invalid handler 'xyz'\", 'errorType': 'InvalidHandleName', 'stackTrace'"
        in result.log
    )
    assert b", Error: Unhandled function error\n" in result.log


async def test_failures_are_tried_again_and_successes_kept(functions):
    """The next call imports again; a loaded handler is not looked up a second time."""
    image = functions.image("import missing_part\ndef handler(event, context): return missing_part.VALUE")

    async with functions.pool() as pool:
        first = await pool.invoke(image, functions.invocation())
        (image.code_dir / "missing_part.py").write_text("VALUE = 'here'")
        second = await pool.invoke(image, functions.invocation())
        (image.code_dir / "index.py").unlink()
        third = await pool.invoke(image, functions.invocation())

    assert first.error_type == "UnhandledInvocationError"
    assert second.body == third.body == b"here"
    assert first.instance_id == third.instance_id


async def test_dotted_packages_and_slash_directories_are_found(functions):
    """A dot is a package, a slash a plain directory; the module's name is everything left of the last dot."""
    image = functions.image("")
    package = image.code_dir / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    plain = image.code_dir / "dir"
    plain.mkdir()
    code = "import sys\ndef handler(event, context): return __name__ + ' ' + str(__name__ in sys.modules)"
    (package / "mod.py").write_text(code)
    (plain / "mod.py").write_text(code)
    dotted = functions.image("", code_dir=image.code_dir, handler="pkg.mod.handler")
    slashed = functions.image("", code_dir=image.code_dir, handler="dir/mod.handler")

    results = [(await functions.calls(each, b""))[0].body for each in (dotted, slashed)]

    assert results == [b"pkg.mod True", b"dir/mod True"]


async def test_directory_without_init_is_no_package(functions):
    """The platform's finder is older than namespace packages."""
    image = functions.image("", handler="pkg.mod.handler")
    (image.code_dir / "pkg").mkdir()
    (image.code_dir / "pkg" / "mod.py").write_text("def handler(event, context): pass")

    result = (await functions.calls(image, b""))[0]

    assert json.loads(result.body)["stackTrace"] == ["ImportError: No module named 'pkg'"]


async def test_initializer_and_handler_share_their_module(functions):
    """The module is imported once for both, so the handler sees what the initializer prepared."""
    result = await functions.call(
        """
        imported = []
        imported.append(1)
        state = {}
        def setup(context):
            state["ready"] = context.request_id
        def handler(event, context):
            return [len(imported), state["ready"] == context.request_id]
        """,
        initializer="index.setup",
    )

    assert json.loads(result.body) == [1, True]
    assert result.error_type is None


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
async def test_result_is_converted_as_the_platform_does(functions, expression, body):
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

    result = await functions.call(code)

    assert result.error_type is None
    assert result.body == body


async def test_event_arrives_as_bytes(functions):
    """A Python 3 handler gets the raw bytes of the event, empty ones for no body."""
    image = functions.image("def handler(event, context): return repr(event)")

    results = await functions.calls(image, b"", b"\x00\xffabc")

    assert [result.body for result in results] == [b"b''", rb"b'\x00\xffabc'"]


@pytest.mark.parametrize("expression", ["bytearray(b'x')", "{1, 2}", "object"])
async def test_result_that_json_cannot_say_is_a_type_error(functions, expression):
    """The failure names the value and keeps the frames of the agent that tried."""
    result = await functions.call(f"def handler(event, context): return {expression}")

    error = json.loads(result.body)
    assert result.error_type == "UnhandledInvocationError"
    assert error["errorType"] == "TypeError"
    assert error["errorMessage"] == repr(eval(expression)) + " is not JSON serializable"
    assert any("to_json" in frame[2] for frame in error["stackTrace"])


async def test_exception_becomes_pretty_json_without_the_agents_frame(functions):
    """The body lists file, line, function and source of every frame of the user's code."""
    image = functions.image(
        """
        def inner():
            raise ValueError("something is wrong, really")

        def handler(event, context):
            inner()
        """
    )

    result = (await functions.calls(image, b""))[0]

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


async def test_exception_without_user_frames_has_no_trace(functions):
    """A handler that takes the wrong number of arguments fails in the agent's own frame, which is left out."""
    result = await functions.call("def handler(): pass")

    assert json.loads(result.body) == {
        "errorMessage": "handler() takes 0 positional arguments but 2 were given",
        "errorType": "TypeError",
    }


async def test_code_without_source_lines_has_an_empty_source(functions):
    """Frames of code made by exec are listed with no source text."""
    result = await functions.call(
        """
        def handler(event, context):
            exec("raise KeyError('x')")
        """
    )

    assert json.loads(result.body)["stackTrace"][-1] == ['File "<string>"', "line 1", "in <module>", ""]


async def test_text_that_utf8_cannot_say_fails_the_call(functions):
    """A lone surrogate cannot be sent, and the instance goes on."""
    image = functions.image("def handler(event, context): return '\\ud800' if event else 'fine'")

    bad, good = await functions.calls(image, b"x", b"")

    assert json.loads(bad.body)["errorType"] == "UnicodeEncodeError"
    assert good.body == b"fine"
    assert good.instance_id == bad.instance_id


async def test_globals_survive_between_calls(functions):
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

    results = await functions.calls(image, b"", b"", b"")

    assert [result.body for result in results] == [b"1", b"2", b"3"]
    assert [result.cold for result in results] == [True, False, False]
    assert len({result.instance_id for result in results}) == 1


async def test_large_events_and_results_pass_unchanged(functions):
    """Megabytes in both directions take the same way."""
    event = bytes(range(256)) * 20000
    image = functions.image("def handler(event, context): return event + event", memory_mb=512)

    result = (await functions.calls(image, event))[0]

    assert result.body == event + event


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("not_there", "Not.There[extra]>=1,<2  # why"),
        ("not_there", "not-there ; python_version > '3'"),
        ("nyaml", "PyNYAML==6"),
    ],
)
async def test_a_missing_module_that_is_required_says_how_to_install_it(functions, module, line):
    """The packages of requirements.txt are not installed by anybody else."""
    image = functions.image(f"import {module}")
    (image.code_dir / "requirements.txt").write_text(f"# first\n-r more.txt\n{line}\n")

    result = (await functions.calls(image, b""))[0]

    required, place = line.partition("#")[0].strip(), image.code_dir
    assert json.loads(result.body)["stackTrace"][-1] == (
        f"requirements.txt names {required}, not installed here: pip install -r '{place}/requirements.txt' -t '{place}'"
    )


async def test_a_missing_module_of_another_name_says_which_packages_are_not_installed(functions):
    """Pillow brings PIL: a name says little, but what is installed can be looked up, markers and options aside."""
    image = functions.image("import not_there")
    (image.code_dir / "requirements.txt").write_text(
        "-r more.txt\nPillow-like>=3\npytest\nwinonly; os_name == 'nt'\nb\n"
    )

    result = (await functions.calls(image, b""))[0]

    assert json.loads(result.body)["stackTrace"][-1].startswith(
        "requirements.txt names Pillow-like>=3, b, not installed here: pip install -r "
    )


async def test_a_missing_module_that_is_not_required_says_nothing_of_it(functions):
    """A package that is installed is no reason."""
    image = functions.image("import not_there")
    (image.code_dir / "requirements.txt").write_text("pytest\n")

    result = (await functions.calls(image, b""))[0]

    assert "requirements" not in result.body.decode()


async def test_an_import_during_a_call_says_in_the_log_what_to_install(functions):
    """The caller gets what the cloud answers; the log is the emulator's own."""
    image = functions.image("def handler(event, context):\n    import not_there\n")
    (image.code_dir / "requirements.txt").write_text("not-there\n")

    result = (await functions.calls(image, b""))[0]

    assert json.loads(result.body)["errorType"] == "ModuleNotFoundError"
    assert "requirements" not in result.body.decode()
    assert b"requirements.txt names not-there, not installed here: pip install -r" in result.log


async def test_bytecode_of_the_same_second_is_not_run_in_place_of_an_edit(functions):
    """A user's own test run leaves it behind; size and second of the source are all that it knows it by."""
    image = functions.image("import part\n\ndef handler(event, context):\n    return part.VALUE\n")
    part = image.code_dir / "part.py"
    part.write_text("VALUE = 'old'\n")
    compiled = Path(py_compile.compile(str(part)))
    part.write_text("VALUE = 'new'\n")
    for file in (part, compiled):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    compiled.write_bytes(compiled.read_bytes()[:8] + (1_700_000_000).to_bytes(4, "little") + compiled.read_bytes()[12:])
    os.utime(compiled, (1_700_000_000, 1_700_000_000))

    result = (await functions.calls(image, b""))[0]

    assert result.body == b"new"


async def test_a_missing_module_of_the_platform_names_the_extra(functions):
    """The cloud's runtimes bring it, so nothing there says more."""
    result = await functions.call("import tablestore\n\ndef handler(event, context):\n    pass\n")

    described = json.loads(result.body)
    assert described["errorType"] == "ImportModuleError"
    assert described["stackTrace"][-1] == (
        "The cloud's Python runtimes bring tablestore; here it comes with: pip install 'localyun[runtime]'"
    )
