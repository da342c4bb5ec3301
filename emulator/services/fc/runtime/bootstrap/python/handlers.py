"""From a handler string to its function, and from what that returns or raises to the bytes its caller gets.

``dir/pkg.mod.func`` means ``func`` in ``dir/pkg/mod.py`` under the code folder; the module is registered under
everything left of the last dot. Packages on the way need an ``__init__`` file, because the platform uses the finder
from before namespace packages. A loaded handler is kept for the life of the instance; a failure is tried again.

Source: Function Compute's published Python runtime; observed.
"""

from __future__ import annotations

import datetime
import decimal
import gc
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any

Handler = Callable[..., Any]

_SUFFIXES = (
    *importlib.machinery.EXTENSION_SUFFIXES,
    *importlib.machinery.SOURCE_SUFFIXES,
    *importlib.machinery.BYTECODE_SUFFIXES,
)


PLATFORM_MODULES = frozenset(
    {
        "aliyun",
        "aliyunsdkcore",
        "aliyunsdkkms",
        "aliyunsdkram",
        "aliyunsdksts",
        "chardet",
        "fc2",
        "mns",
        "oss2",
        "requests",
        "tablestore",
    }
)
"""The modules of the extra ``runtime``, by the names under which code imports them. Source: Function Compute, Python
runtimes: built-in modules; awesome-fnf/oss-unzip for chardet, which it does not pack."""

_EXTRA = "The cloud's Python runtimes bring {0}; here it comes with: pip install 'localyun[runtime]'"

_REQUIRED = "requirements.txt names {0}, not installed here: pip install -r '{1}/requirements.txt' -t '{1}'"


class LoadFailure(Exception):
    """The handler cannot be used; ``error`` is the object the caller gets."""

    def __init__(self, kind: str, message: str, cause: BaseException) -> None:
        self.error = describe_load_failure(kind, message, cause)
        super().__init__(message)


class Handlers:
    """The handlers of one instance."""

    def __init__(self, code_dir: str) -> None:
        self._code_dir = code_dir
        self._loaded: dict[str, Handler] = {}
        self._loading = threading.Lock()

    def get(self, name: str) -> Handler:
        """Return the function *name* stands for, importing its module at the first use.

        Raises: LoadFailure; SystemExit and the like from the module itself.
        """
        handler = self._loaded.get(name)
        if handler is not None:
            return handler
        with self._loading:  # first calls that come at once share one module
            if name not in self._loaded:
                self._loaded[name] = self._load(name)
            return self._loaded[name]

    def _load(self, name: str) -> Handler:
        try:
            module_name, attribute = name.rsplit(".", 1)
        except ValueError as error:
            raise LoadFailure("InvalidHandleName", f"Invalid handler '{name}'", error) from error
        module = self._module(module_name)
        try:
            handler: Handler = getattr(module, attribute)
        except AttributeError as error:
            message = f"Handler '{attribute}' is missing on module '{module_name}'"
            raise LoadFailure("HandlerNotFound", message, error) from error
        return handler

    def _module(self, name: str) -> ModuleType:
        try:
            return _import(name, _find(name, self._code_dir))
        except ImportError as error:
            failure = LoadFailure("ImportModuleError", f"Unable to import module '{name}'", error)
            if hint := missing_package(error, self._code_dir):
                failure.error["stackTrace"].append(hint)
            raise failure from error
        except SyntaxError as error:
            raise LoadFailure("UserCodeSyntaxError", f"Syntax error in module '{name}'", error) from error
        except ValueError as error:
            raise LoadFailure("InvalidHandleName", f"Invalid handler '{name}'", error) from error
        except Exception as error:
            raise LoadFailure("UserCodeError", f"Module initialization error: '{error}'", error) from error


def missing_package(error: BaseException, folder: str) -> str:
    """Return how to install the package that an import of the code in *folder* did not find; empty when unknown."""
    if not isinstance(error, ImportError) or not error.name:
        return ""
    module = error.name.partition(".")[0]
    if module in PLATFORM_MODULES:
        return _EXTRA.format(error.name)
    if isinstance(error, ModuleNotFoundError) and (required := _required(module, folder)):
        return _REQUIRED.format(required, folder)
    return ""


def _required(module: str, folder: str) -> str:
    """Return the lines of the function's requirements.txt that may bring *module*; empty for none.

    That is the line of that name; else, since Pillow brings ``PIL``, every line whose package is not installed.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # slow, and only a failed import needs it

    missing = []
    for line, package in _requirements(folder):
        wanted = module.replace("_", "-").lower()
        if wanted in {package, package.removeprefix("python-"), package.removeprefix("py")}:
            return line
        try:
            distribution(package)
        except PackageNotFoundError:
            if ";" not in line:  # a marker may say that it is for another system
                missing.append(line)
    return ", ".join(missing)


def _requirements(folder: str) -> list[tuple[str, str]]:
    """Return the lines of requirements.txt that name a package, each with the package's normalized name."""
    try:
        with open(os.path.join(folder, "requirements.txt"), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123 - as above
            lines = [line.partition("#")[0].strip() for line in file]
    except OSError:
        return []
    found = []
    for line in lines:
        package = line
        for sign in "[=<>!~; @":
            package = package.partition(sign)[0]
        package = package.replace("_", "-").replace(".", "-").lower()
        if package.replace("-", "").isalnum() and package[0] != "-":  # not an option, a path or an address
            found.append((line, package))
    return found


def _find(name: str, folder: str) -> str:
    """Return the file of module *name*, segment by segment below *folder*.

    Raises: ImportError.
    """
    directory, _, dotted = name.rpartition("/")
    place = os.path.join(folder, directory)  # noqa: PTH118 - pathlib is not imported in the zygote, for memory
    path = ""
    segments = dotted.split(".")
    for index, segment in enumerate(segments):
        package = os.path.join(place, segment)  # noqa: PTH118
        initial = _with_suffix(os.path.join(package, "__init__"))  # noqa: PTH118
        path = initial or _with_suffix(package)
        if not path or (not initial and index < len(segments) - 1):
            raise ImportError(f"No module named {segment!r}", name=segment)
        place = package
    return path


def _with_suffix(stem: str) -> str:
    for suffix in _SUFFIXES:
        if os.path.isfile(stem + suffix):  # noqa: PTH113
            return stem + suffix
    return ""


def _import(name: str, path: str) -> ModuleType:
    present = sys.modules.get(name)
    if present is not None and getattr(present, "__file__", None) == path:
        return present
    is_package = os.path.basename(path).startswith("__init__.")  # noqa: PTH119
    folders = [os.path.dirname(path)] if is_package else None  # noqa: PTH120
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise ImportError(f"No module named {name!r}", name=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    usual = gc.get_threshold()
    gc.set_threshold(0)  # what is loaded stays: looking for garbage among it takes up to a fifth of the time
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    finally:
        if gc.get_threshold()[0] == 0:  # not if the module has set another
            gc.set_threshold(*usual)
    return sys.modules.get(name, module)


def _serialise(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if hasattr(value, "to_json"):
        return value.to_json()
    raise TypeError(repr(value) + " is not JSON serializable")


def to_json(value: Any) -> str:
    """Return *value* as the platform writes JSON: indented by four, keys sorted, ASCII only.

    Raises: TypeError, ValueError for what JSON cannot say.
    """
    return json.dumps(value, default=_serialise, indent=4, sort_keys=True)


def to_body(value: Any) -> bytes:
    """Return what a handler returned as bytes: text and bytes as they are, anything else as JSON."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8")
    return to_json(value).encode("utf-8")


def describe(error: BaseException, trace: TracebackType | None, *, skip: int = 0) -> dict[str, Any]:
    """Return the error object of an exception; *skip* is the number of outermost frames to leave out."""
    frames = [
        [f'File "{frame.filename}"', f"line {frame.lineno}", f"in {frame.name}", (frame.line or "").strip()]
        for frame in traceback.extract_tb(trace)[skip:]
    ]
    return _error(_text_of(error), type(error).__name__, frames)


def traceback_of(error: BaseException, *, skip: int) -> str:
    """Return what Python prints of an exception, without the *skip* outermost frames."""
    printed = traceback.TracebackException.from_exception(error)
    printed.stack = traceback.StackSummary.from_list(printed.stack[skip:])
    return "".join(printed.format()).rstrip()


def describe_load_failure(kind: str, message: str, cause: BaseException) -> dict[str, Any]:
    """Return the error object for a handler that cannot be loaded, with the lines that name *cause* as its trace.

    The first entry is split at commas and carets are dropped, as the platform does.
    """
    lines: list[str] = []
    for index, entry in enumerate(traceback.format_exception_only(type(cause), cause)):
        for line in entry.split("\n"):
            text = line.replace("^", "").strip()
            parts = text.split(",") if index == 0 else [text]
            lines += [part.strip() for part in parts if part.strip()]
    return _error(message, kind, lines)


def _error(message: str, kind: str, trace: list[Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"errorMessage": message, "errorType": kind}
    if trace:
        result["stackTrace"] = trace
    return result


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # the exception's own __str__ is user code
        return f"<{type(error).__name__} whose text raised {type(broken).__name__}>"
