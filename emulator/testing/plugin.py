"""The pytest plugin: the fixture ``localyun``, registered with the package, so that no conftest.py is needed.

Every pytest worker has one emulator, started when the first test asks for it, so its clock is that worker's own. The
state is restored to the session's baseline before each test. A failing test's report shows what the emulator did: the
requests in order, each with what it caused; what functions wrote; the executions as trees. Only what is new since the
test began is shown, and long parts are cut.

Nothing but this file is imported before a test uses a fixture, not even the package around it: the package `localyun`
loads this file, so that a project with a module ``emulator`` of its own is not disturbed.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emulator.services.workflow.rehearsal.cases import Case, Suite
    from emulator.testing.kit import Localyun
    from emulator.testing.process import Emulator

_BASELINE = "pytest-baseline"
_EXPLORED = "localyun exploration"
_SHARE = "_localyun_share"
_SHARE_ID = re.compile(r"-?share-\d+-of-\d+")
_INSTALLED: "pytest.StashKey[dict[Path, set[str]]]" = pytest.StashKey()
_KIT: "pytest.StashKey[Localyun]" = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini options."""
    parser.addini("localyun_functions", "folder of functions to serve (default: functions of the root folder)")
    parser.addini("localyun_deploy", "files to deploy before the first test", type="paths", default=[])
    parser.addini("localyun_config", "a localyun.yaml with resources and options")
    parser.addini(
        "localyun_clock", "real or frozen: how the clock stands at the beginning of each test", default="real"
    )
    parser.addini("localyun_seed", "seed of ids and all random values", default="0")
    parser.addini("localyun_start_at", "the emulator's time at the beginning, such as 2027-01-01T00:00:00Z")
    parser.addini(
        "localyun_order",
        "fixed: effects proceed one at a time; overlap: calls run in parallel; free: as in the cloud",
        default="fixed",
    )
    parser.addini(
        "localyun_patience",
        "how long a function may run without any sign of activity before other effects stop waiting for it (real time)",
        default="1s",
    )
    options = parser.getgroup("localyun")
    options.addoption("--localyun-seed", metavar="N", help="seed of ids and all random values in this run")
    options.addoption(
        "--localyun-schedule", metavar="SCHEDULE", help="run explored tests with this schedule only, such as 3:1,7:2"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker."""
    config.addinivalue_line(
        "markers",
        "localyun_explore(deviations=2, order=None, faults=(), runs=500, budget='60s', reset=None, random=True,"
        " reduce=True): run the test in every order of effects that differs from the first in up to so many choices",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each worker of xdist a share of the schedules of an explored test.

    A test that is expected to fail is left whole: the shares without its failing schedule would pass.
    """
    workers = _workers(metafunc.config)
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    if workers > 1 and "localyun_explore" in marks and "xfail" not in marks:
        metafunc.fixturenames.append(_SHARE)
        shares = [(number, workers) for number in range(workers)]
        names = [f"share-{number + 1}-of-{workers}" for number in range(workers)]
        metafunc.parametrize(_SHARE, shares, ids=names, indirect=True)


def _workers(config: pytest.Config) -> int:
    """Return how many workers share the schedules: one while a schedule is replayed."""
    if config.getoption("--localyun-schedule"):
        return 1
    told: dict[str, Any] = getattr(config, "workerinput", {})
    return int(told.get("workercount", 1))


def _whole(name: str) -> str:
    """Return the name of a test without its share of the schedules, as used for names of resources and for replay."""
    return _SHARE_ID.sub("", name).replace("[-", "[").removesuffix("[]")


@pytest.fixture
def _localyun_share(request: pytest.FixtureRequest) -> tuple[int, int]:
    share: tuple[int, int] = request.param
    return share


def _schedule(config: pytest.Config) -> dict[str, Any] | None:
    """Return the body of POST schedule at the beginning of each test; None for no schedule. Raises: UsageError."""
    order = config.getini("localyun_order")
    if order not in {"fixed", "overlap", "free"}:
        raise pytest.UsageError(f"localyun_order is fixed, overlap or free, not {order!r}")
    if order == "free":
        return None
    return {"order": [], "overlap": order == "overlap", "patience": config.getini("localyun_patience")}


def _draws(config: pytest.Config) -> list[str]:
    """Return the options of `localyun start` for the seed and the start time."""
    seed = config.getoption("--localyun-seed") or config.getini("localyun_seed")
    if not seed.isdecimal():
        raise pytest.UsageError(f"localyun_seed is a whole number, not {seed!r}")
    words = ["--seed", seed]
    begin = config.getini("localyun_start_at")
    frozen = ["--freeze"] if begin and config.getini("localyun_clock") == "frozen" else []
    return [*words, *(["--start-at", begin] if begin else []), *frozen]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not collect packages that ``pip install -t`` has put beside a function's own files."""
    functions = _functions_folder(config, must_exist=False)
    folder = collection_path.parent
    if functions is None or not folder.is_relative_to(functions):
        return None
    installed = config.stash.setdefault(_INSTALLED, {})
    if folder not in installed:
        installed[folder] = _installed_in(folder)
    return True if collection_path.name in installed[folder] else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "FlowCases | None":
    """Collect the cases of flows in ``*.test.yaml``; files of that name without a flow are left to others."""
    if not file_path.name.endswith((".test.yaml", ".test.yml")):
        return None
    text = file_path.read_text(encoding="utf-8", errors="replace")
    is_ours = re.search(r"^flow:", text, re.MULTILINE) and re.search(r"^cases:", text, re.MULTILINE)
    return FlowCases.from_parent(parent, path=file_path) if is_ours else None


class FlowCases(pytest.File):
    """A file of cases of a flow."""

    def collect(self) -> "Iterator[FlowCase]":
        """Yield the cases."""
        _claim_name()
        from emulator.services.workflow.rehearsal.cases import read_suite
        from emulator.services.workflow.rehearsal.documents import CaseError

        try:
            suite = read_suite(self.path)
        except CaseError as error:
            raise self.CollectError(str(error)) from error
        for case in suite.cases:
            item = FlowCase.from_parent(self, name=case.name)
            item.suite, item.case = suite, case
            for tag in case.tags:
                item.extra_keyword_matches.add(tag)
            yield item


class _CaseFailed(Exception):
    pass


class FlowCase(pytest.Item):
    """A case of a flow, which is run without an emulator."""

    suite: "Suite"
    case: "Case"

    def runtest(self) -> None:
        """Run the case."""
        from emulator.services.workflow.rehearsal.cases import run_case
        from emulator.services.workflow.rehearsal.coverage import Coverage

        outcome = run_case(self.suite, self.case, Coverage(self.suite.program))
        if not outcome.passed:
            raise _CaseFailed("\n".join(outcome.reasons))

    def repr_failure(self, excinfo: "pytest.ExceptionInfo[BaseException]", style: Any = None) -> Any:
        """Return the reasons of a case that failed."""
        if isinstance(excinfo.value, _CaseFailed):
            return f"{self.path}:{self.case.line}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return file and line of the case."""
        return self.path, self.case.line - 1, self.name


def _installed_in(folder: Path) -> set[str]:
    """Return the names in *folder* that belong to packages installed there, by the packages' own records."""
    names = set()
    for record in folder.glob("*.dist-info/RECORD"):
        lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
        names |= {line.strip('"').partition("/")[0].partition(",")[0] for line in lines}
    return names - {"", ".."}


@pytest.fixture(scope="session")
def localyun_emulator(request: pytest.FixtureRequest) -> "Iterator[Emulator]":
    """The emulator of this worker, started when it is first needed."""
    _claim_name()
    from emulator.testing.process import Emulator

    config = request.config
    clock = config.getini("localyun_clock")
    if clock not in {"real", "frozen"}:
        raise pytest.UsageError(f"localyun_clock is real or frozen, not {clock!r}")
    emulator = Emulator(
        functions=_functions_folder(config), config=_path(config, "localyun_config"), options=_draws(config)
    )
    emulator.start()
    try:
        yield emulator
    finally:
        emulator.stop()


@pytest.fixture(scope="session")
def localyun_session(localyun_emulator: "Emulator", request: pytest.FixtureRequest) -> "Localyun":
    """The kit before the first test, with what ``localyun_deploy`` names."""
    localyun = localyun_emulator.localyun
    for path in _to_deploy(request.config.getini("localyun_deploy")):
        localyun.deploy(path)
    return localyun


def _to_deploy(paths: Sequence[Path]) -> Sequence[Path]:
    """Return *paths*, all of which are there.

    Raises: pytest.UsageError; pytest splits the option at blanks, also within the name of a file.
    """
    for path in paths:
        if not path.exists():
            raise pytest.UsageError(
                f"localyun_deploy: there is no {path}; write a path with blanks in quotes, in pyproject.toml in a list"
            )
    return paths


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
    kit.schedule = _schedule(request.config)
    name = _SHARE_ID.sub("", request.node.nodeid).removesuffix(
        "[]"
    )  # names that a test chooses must not depend on shares
    kit.begin(name, request.path.parent, _BASELINE)
    request.node.stash[_KIT] = kit
    try:
        yield kit
    finally:
        kit.end()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    """Run an explored test once for each schedule; let each example of Hypothesis begin at the baseline."""
    kit = pyfuncitem.stash.get(_KIT, None)
    marker = pyfuncitem.get_closest_marker("localyun_explore")
    if kit is None:
        if marker is not None:
            pytest.fail("localyun_explore needs the fixture localyun", pytrace=False)
        return (yield)
    property_test = getattr(pyfuncitem.obj, "hypothesis", None)
    holder, name = (pyfuncitem, "obj") if property_test is None else (property_test, "inner_test")
    test = getattr(holder, name)
    changed = test if marker is None else _explored(kit, test, pyfuncitem, marker)
    setattr(holder, name, changed if property_test is None else _from_baseline(kit, changed))
    try:
        return (yield)
    finally:
        setattr(holder, name, test)


def _explored(
    kit: "Localyun", test: Callable[..., Any], item: pytest.Function, marker: pytest.Mark
) -> Callable[..., Any]:
    """Return a test that tries this worker's schedules; of a property, for each example of Hypothesis."""
    from emulator.testing.api import TestingError  # imports requests and the rest of the kit
    from emulator.testing.exploring import explored

    share = getattr(item, "callspec", None) and item.callspec.params.get(_SHARE)
    file = os.path.relpath(item.path, item.config.invocation_params.dir)
    address = _whole(f"{file}::{item.nodeid.partition('::')[2]}")
    settings = {"patience": item.config.getini("localyun_patience"), "share": share or (0, 1), **marker.kwargs}
    try:
        return explored(kit, test, address, settings, item.config.getoption("--localyun-schedule"))
    except TestingError as error:
        pytest.fail(str(error), pytrace=False)


def _from_baseline(kit: "Localyun", test: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(test)
    def begun(*arguments: Any, **named: Any) -> Any:
        kit.begin_again()
        return test(*arguments, **named)

    return begun


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Any:
    """Add to a failing test's report what the emulator did during the test."""
    report = yield
    kit = item.stash.get(_KIT, None)
    if kit is not None and report.failed and report.when == "call":
        from emulator.testing.story import story  # only needed for failures

        report.sections.append(("localyun", story(kit)))
    if kit is not None and (kit.explored or kit.exploration is not None) and report.when == "call":
        from emulator.testing.exploring import keep

        page = keep(kit, kit.exploration, item.config.rootpath) if kit.exploration is not None else ""
        if told := "\n  ".join(filter(None, (kit.explored, page))):
            report.sections.append((_EXPLORED, told))
        kit.explored, kit.exploration = "", None
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many schedules of each explored test there were."""
    told = [
        (_whole(report.nodeid), text)
        for report in terminalreporter.stats.get("passed", ())
        for title, text in getattr(report, "sections", ())
        if title == _EXPLORED and report.when == "call"
    ]
    if told:
        terminalreporter.section("localyun")
        for _, text in sorted(told, key=lambda each: each[0]):
            for line in text.splitlines():
                terminalreporter.line(line)


def _claim_name() -> None:
    """Check that the project's own module ``emulator`` does not hide this package.

    Raises: UsageError when it does.
    """
    try:
        from localyun import claim_name  # here, so that a project without fixtures is left alone
    except ImportError:
        return  # the package is on the search path, but not installed
    try:
        claim_name()
    except ImportError as error:
        raise pytest.UsageError(str(error)) from error


def _functions_folder(config: pytest.Config, *, must_exist: bool = True) -> Path | None:
    chosen = _path(config, "localyun_functions")
    if chosen is not None:
        if must_exist and not chosen.is_dir():
            raise pytest.UsageError(f"localyun_functions names no folder: {chosen}")
        return chosen
    root = config.rootpath
    beside = [root / "functions", config.invocation_params.dir / "functions"]
    if root.name.startswith("test"):  # without a configuration the only argument is the root
        beside.append(root.parent / "functions")
    return next((folder for folder in beside if folder.is_dir()), None)


def _path(config: pytest.Config, option: str) -> Path | None:
    text = config.getini(option)
    return config.rootpath / text if text else None
