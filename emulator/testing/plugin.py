"""The pytest plugin: the fixture ``localyun``, registered with the package, so that no conftest.py is needed.

Every pytest worker has one emulator, started when the first test asks for it, so its clock is that worker's own. The
state is put back to the session's baseline before each test. A failing test's report shows what the emulator did: the
requests in order, each with what it caused; what functions wrote; the executions as trees. Only what is new since the
test began, and of very much only the end.

Nothing but this file is imported before a test uses a fixture, not even the package around it: the package `localyun`
loads this file, so that a project with a module ``emulator`` of its own is not disturbed.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emulator.testing.kit import Localyun
    from emulator.testing.process import Emulator

_BASELINE = "pytest-baseline"
_LINES = 300
_TREES = 10
_KIT: "pytest.StashKey[Localyun]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini options."""
    parser.addini("localyun_functions", "folder of functions to serve (default: functions beside the tests' root)")
    parser.addini("localyun_deploy", "files to deploy before the first test", type="paths", default=[])
    parser.addini("localyun_config", "a localyun.yaml with resources and options")
    parser.addini(
        "localyun_clock", "real or frozen: how the clock stands at the beginning of each test", default="real"
    )


@pytest.fixture(scope="session")
def localyun_emulator(request: pytest.FixtureRequest) -> "Iterator[Emulator]":
    """The emulator of this worker, started when it is first needed."""
    _claim_name()
    from emulator.testing.process import Emulator

    config = request.config
    clock = config.getini("localyun_clock")
    if clock not in {"real", "frozen"}:
        raise pytest.UsageError(f"localyun_clock is real or frozen, not {clock!r}")
    emulator = Emulator(functions=_functions_folder(config), config=_path(config, "localyun_config"))
    emulator.start()
    try:
        yield emulator
    finally:
        emulator.stop()


@pytest.fixture(scope="session")
def localyun_session(localyun_emulator: "Emulator", request: pytest.FixtureRequest) -> "Localyun":
    """The kit before the first test, with what ``localyun_deploy`` names."""
    localyun = localyun_emulator.localyun
    for path in request.config.getini("localyun_deploy"):
        localyun.deploy(path)
    return localyun


@pytest.fixture(scope="session")
def localyun_baseline(localyun_session: "Localyun") -> "Localyun":
    """The kit before the first test. Override it in a conftest.py to deploy and create what all tests need.

    An override of the same name may ask for this one::

        @pytest.fixture(scope="session")
        def localyun_baseline(localyun_baseline):
            localyun_baseline.deploy("s.yaml")
    """
    return localyun_session


@pytest.fixture(scope="session")
def _localyun_saved(
    localyun_session: "Localyun", localyun_baseline: object, request: pytest.FixtureRequest
) -> "Localyun":
    if request.config.getini("localyun_clock") == "frozen":
        localyun_session.clock.freeze()
    localyun_session.settle("60s")
    localyun_session.checkpoint(_BASELINE)
    return localyun_session


@pytest.fixture
def localyun(_localyun_saved: "Localyun", request: pytest.FixtureRequest) -> "Iterator[Localyun]":
    """The kit for one test; the state is the session's baseline."""
    kit = _localyun_saved
    kit.begin(request.node.nodeid, request.path.parent, _BASELINE)
    request.node.stash[_KIT] = kit
    try:
        yield kit
    finally:
        kit.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Any:
    """Add to a failing test's report what the emulator did during the test."""
    report = yield
    kit = item.stash.get(_KIT, None)
    if kit is not None and report.failed and report.when == "call":
        report.sections.append(("localyun", _story(kit)))
    return report


def _claim_name() -> None:
    """Raises: UsageError when the project's own ``emulator`` has the place of this package."""
    try:
        from localyun import claim_name  # a project that uses no fixture is left alone
    except ImportError:
        return  # a checkout on the search path, without an installation
    try:
        claim_name()
    except ImportError as error:
        raise pytest.UsageError(str(error)) from error


def _story(kit: "Localyun") -> str:
    """Return what the emulator did; when it does not tell, that it does not."""
    try:
        lines: list[dict[str, Any]] = kit.api.admin("GET", "report")["lines"]
    except Exception as error:  # a report must not hide the failure it is about
        return f"the emulator does not answer: {error}"
    parts = [_waiting(kit), _requests(lines), _output(lines), *_trees(kit, lines)]
    text = "\n\n".join(part for part in parts if part) or "nothing was asked of the emulator"
    kept = text.splitlines()
    return text if len(kept) <= _LINES else "\n".join(["...", *kept[-_LINES:]])


def _waiting(kit: "Localyun") -> str:
    status = kit.api.admin("GET", "status")
    parts = (("triggers that wait", status["waiting"]), ("problems in the functions folder", status["problems"]))
    return "\n\n".join("\n".join([title, *lines]) for title, lines in parts if lines)


def _requests(lines: list[dict[str, Any]]) -> str:
    asked = {line["request"]: line for line in lines if "operation" in line}
    effects: dict[str, list[dict[str, Any]]] = {}
    others = []
    for line in lines:
        if "operation" in line or line["logger"] == "function":
            continue
        cause = next((name for name in (line.get("trace"), line.get("cause")) if name in asked), None)
        if cause is None:
            others.append(line)
        else:
            effects.setdefault(cause, []).append(line)
    shown = []
    for request, line in asked.items():
        shown.append(f"{_time(line)}  {line['service']} {line['operation']}  {line['status']}  {request}")
        shown += [f"    {_time(each)}  {each['message']}" for each in effects.get(request, ())]
    shown += [f"{_time(each)}  {each['message']}" for each in others]
    return "\n".join(["requests and what they caused", *shown]) if shown else ""


def _output(lines: list[dict[str, Any]]) -> str:
    shown = []
    for line in lines:
        if line["logger"] == "function":
            shown += [f"{line['function']}  {text}" for text in line["message"].splitlines()]
    return "\n".join(["function logs", *shown]) if shown else ""


def _trees(kit: "Localyun", lines: list[dict[str, Any]]) -> list[str]:
    executions = dict.fromkeys(
        (line["flow"], line["execution"]) for line in lines if line.get("flow") and line.get("execution")
    )
    trees = []
    for flow, execution in list(executions)[-_TREES:]:
        try:
            tree = kit.command("flow", "history", flow, execution)
        except Exception as error:  # deleted by the test, perhaps
            tree = str(error)
        trees.append(f"execution {flow}/{execution}\n{tree.rstrip()}")
    return trees


def _time(line: dict[str, Any]) -> str:
    return re.sub(r"^.*T|Z$", "", str(line["time"]))


def _functions_folder(config: pytest.Config) -> Path | None:
    chosen = _path(config, "localyun_functions")
    if chosen is not None:
        if not chosen.is_dir():
            raise pytest.UsageError(f"localyun_functions names no folder: {chosen}")
        return chosen
    root = config.rootpath
    beside = [root / "functions", config.invocation_params.dir / "functions"]
    if root.name.startswith("test"):  # a run without a configuration has its only argument for a root
        beside.append(root.parent / "functions")
    return next((folder for folder in beside if folder.is_dir()), None)


def _path(config: pytest.Config, option: str) -> Path | None:
    text = config.getini(option)
    return config.rootpath / text if text else None
