"""How a handler string leads to a function, and what is answered when it does not."""

import json


def load_error(functions, handler="index.handler", code="", **files):
    image = functions.image(code, handler=handler)
    for name, text in files.items():
        (image.code_dir / f"{name}.py").write_text(text)
    result = functions.calls(image, b"")[0]
    return result, image


def test_missing_module_is_an_import_module_error(functions):
    """The trace names the module the way the finder before Python 3.12 does."""
    result, _ = load_error(functions, handler="nowhere.handler")

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


def test_missing_import_inside_the_module_names_what_is_missing(functions):
    """The outer message is that of the entry module, the trace that of the import."""
    result, _ = load_error(functions, code="import not_there_at_all")

    assert json.loads(result.body) == {
        "errorMessage": "Unable to import module 'index'",
        "errorType": "ImportModuleError",
        "stackTrace": ["ModuleNotFoundError: No module named 'not_there_at_all'"],
    }


def test_syntax_error_lists_file_line_and_source(functions):
    """The first line of the trace is split at its commas and carets are gone."""
    result, image = load_error(functions, code="x = 1\n\ndef broken(:\n    pass\n")

    error = json.loads(result.body)
    assert error["errorType"] == "UserCodeSyntaxError"
    assert error["errorMessage"] == "Syntax error in module 'index'"
    assert error["stackTrace"][:3] == [f'File "{image.code_dir / "index.py"}"', "line 3", "def broken(:"]
    assert error["stackTrace"][3].startswith("SyntaxError: ")
    assert len(error["stackTrace"]) == 4


def test_handler_without_a_dot_is_an_invalid_name(functions):
    """Nothing is imported for it."""
    result, _ = load_error(functions, handler="xyz")

    error = json.loads(result.body)
    assert (error["errorType"], error["errorMessage"]) == ("InvalidHandleName", "Invalid handler 'xyz'")


def test_value_error_while_importing_is_an_invalid_name(functions):
    """The platform cannot tell the two apart; the message has the module's name."""
    result, _ = load_error(functions, code="raise ValueError('no')")

    error = json.loads(result.body)
    assert error == {
        "errorMessage": "Invalid handler 'index'",
        "errorType": "InvalidHandleName",
        "stackTrace": ["ValueError: no"],
    }


def test_other_exception_while_importing_is_a_user_code_error(functions):
    """The text of the exception is in the message."""
    result, _ = load_error(functions, code="1 / 0")

    assert json.loads(result.body) == {
        "errorMessage": "Module initialization error: 'division by zero'",
        "errorType": "UserCodeError",
        "stackTrace": ["ZeroDivisionError: division by zero"],
    }


def test_missing_attribute_is_handler_not_found(functions):
    """The module is there, the function is not."""
    result, _ = load_error(functions, code="x = 1")

    assert json.loads(result.body) == {
        "errorMessage": "Handler 'handler' is missing on module 'index'",
        "errorType": "HandlerNotFound",
        "stackTrace": ["AttributeError: module 'index' has no attribute 'handler'"],
    }


def test_load_failure_is_logged_as_a_dictionary(functions):
    """Load failures appear in the log as Python writes a dict, on a line of the root logger."""
    result, _ = load_error(functions, handler="xyz")

    assert (
        b"[ERROR] {'errorMessage': \"Invalid handler 'xyz'\", 'errorType': 'InvalidHandleName', 'stackTrace'"
        in result.log
    )
    assert b", Error: Unhandled function error\n" in result.log


def test_failures_are_tried_again_and_successes_kept(functions):
    """The next call imports again; a loaded handler is not looked up a second time."""
    image = functions.image("import missing_part\ndef handler(event, context): return missing_part.VALUE")

    async def scenario(pool):
        first = await pool.invoke(image, functions.invocation())
        (image.code_dir / "missing_part.py").write_text("VALUE = 'here'")
        second = await pool.invoke(image, functions.invocation())
        (image.code_dir / "index.py").unlink()
        third = await pool.invoke(image, functions.invocation())
        return first, second, third

    first, second, third = functions.run(scenario)

    assert first.error_type == "UnhandledInvocationError"
    assert second.body == third.body == b"here"
    assert first.instance_id == third.instance_id


def test_dotted_packages_and_slash_directories_are_found(functions):
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

    results = [functions.calls(each, b"")[0].body for each in (dotted, slashed)]

    assert results == [b"pkg.mod True", b"dir/mod True"]


def test_directory_without_init_is_no_package(functions):
    """The platform's finder is older than namespace packages."""
    image = functions.image("", handler="pkg.mod.handler")
    (image.code_dir / "pkg").mkdir()
    (image.code_dir / "pkg" / "mod.py").write_text("def handler(event, context): pass")

    result = functions.calls(image, b"")[0]

    assert json.loads(result.body)["stackTrace"] == ["ImportError: No module named 'pkg'"]


def test_initializer_and_handler_share_their_module(functions):
    """The module is imported once for both, so the handler sees what the initializer prepared."""
    result = functions.call(
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
