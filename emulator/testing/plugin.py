"""The pytest plugin: the fixture ``localyun``, registered with the package, so that no conftest.py is needed.

Every pytest worker has one emulator, started when the first test asks for it, so its clock is that worker's own. The
state is put back to the session's baseline before each test. A failing test's report tells what the emulator did.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from emulator.testing.errors import TestingError
from emulator.testing.kit import Localyun
from emulator.testing.process import Emulator

_BASELINE = "pytest-baseline"
_KIT = pytest.StashKey[Localyun]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini options."""
    parser.addini("localyun_functions", "folder of functions to serve (default: functions beside the tests' root)")
    parser.addini("localyun_deploy", "files to deploy before the first test", type="paths", default=[])
    parser.addini("localyun_config", "a localyun.yaml with resources and options")
    parser.addini(
        "localyun_clock", "real or frozen: how the clock stands at the beginning of each test", default="real"
    )


@pytest.fixture(scope="session")
def localyun_emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """The emulator of this worker, started when it is first needed."""
    config = request.config
    functions = _functions_folder(config)
    declared = _path(config, "localyun_config")
    emulator = Emulator(functions=functions, config=declared)
    emulator.start()
    try:
        yield emulator
    finally:
        emulator.stop()


@pytest.fixture(scope="session")
def localyun_baseline() -> None:
    """Override this in a conftest.py to deploy and create what all tests need; take ``localyun_session`` for it."""


@pytest.fixture(scope="session")
def localyun_session(localyun_emulator: Emulator, request: pytest.FixtureRequest) -> Localyun:
    """The kit before the first test: what is made with it is there for all of them."""
    localyun = localyun_emulator.localyun
    for path in request.config.getini("localyun_deploy"):
        localyun.deploy(path)
    return localyun


@pytest.fixture(scope="session")
def _localyun_saved(localyun_session: Localyun, localyun_baseline: object, request: pytest.FixtureRequest) -> Localyun:
    if request.config.getini("localyun_clock") == "frozen":
        localyun_session.clock.freeze()
    localyun_session.settle("30s")
    localyun_session.checkpoint(_BASELINE)
    return localyun_session


@pytest.fixture
def localyun(_localyun_saved: Localyun, request: pytest.FixtureRequest) -> Iterator[Localyun]:
    """The kit for one test; the state is the session's baseline."""
    kit = _localyun_saved
    kit.api.admin("POST", f"checkpoints/{_BASELINE}/restore")
    kit.test_name = request.node.nodeid
    request.node.stash[_KIT] = kit
    try:
        yield kit
    finally:
        kit.test_name = ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Any:
    """Add to a failing test's report what the emulator did during the test."""
    report = yield
    kit = item.stash.get(_KIT, None)
    if kit is not None and report.failed and report.when in {"call", "setup"}:
        with suppress(Exception):  # the report of a test must not fail with the emulator
            text = str(kit.api.admin("GET", "report", format="text").get("text", ""))
            if text:
                report.sections.append(("localyun", text))
    return report


def _functions_folder(config: pytest.Config) -> Path | None:
    chosen = _path(config, "localyun_functions")
    if chosen is not None:
        if not chosen.is_dir():
            raise TestingError(f"localyun_functions names no folder: {chosen}")
        return chosen
    beside = config.rootpath / "functions"
    return beside if beside.is_dir() else None


def _path(config: pytest.Config, option: str) -> Path | None:
    text = config.getini(option)
    return config.rootpath / text if text else None
