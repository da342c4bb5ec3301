"""dev.py: installs when something changed and only then, passes exit codes on, and says what is missing."""

import builtins
import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in interpreter is a shell script")


@pytest.fixture
def dev(tmp_path, monkeypatch):
    """dev.py, in a project folder whose environment's Python writes down how it is called."""
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text(name)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "stamp")
    return module


def stand_in(dev, *, fails_on=""):
    """Put a stand-in interpreter into the environment; it fails when its arguments contain *fails_on*."""
    python = Path(dev.environment_python())
    python.parent.mkdir(parents=True, exist_ok=True)
    log = dev.ROOT / "calls"
    refusal = f'case "$*" in *{fails_on}*) exit 7;; esac' if fails_on else ""
    python.write_text(
        f'#!/bin/sh\ncase "$2" in "import sys, importlib"*) exit 0;; esac\necho "$*" >> {log}\n{refusal}\n'
    )
    python.chmod(0o755)
    return lambda: log.read_text().splitlines() if log.exists() else []


def test_first_task_installs_and_the_next_one_does_not(dev):
    """The second run finds the stamp and needs no network."""
    calls = stand_in(dev)

    assert dev.main(["test"]) == dev.main(["test"]) == 0

    installs = [call for call in calls() if call.startswith("-m pip install")]
    assert len(installs) == 1
    assert "--constraint" in installs[0]
    assert installs[0].endswith(f"--editable {dev.ROOT}[dev]")
    assert [call for call in calls() if call.startswith("-m pytest")] == ["-m pytest -n 4 --dist worksteal"] * 2


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_changed_requirements_install_again(dev, name):
    """What has to be installed is remembered by its content."""
    calls = stand_in(dev)
    dev.main(["setup"])

    (dev.ROOT / name).write_text("changed")
    dev.main(["setup"])

    assert len(calls()) == 2


def test_development_environment_serves_the_demonstration_too(dev):
    """The larger set includes the smaller one, not the other way round."""
    calls = stand_in(dev)

    dev.main(["setup"])
    dev.main(["demo", "--sdk", "tea"])
    assert calls()[1:] == ["-m emulator tutorial run poll-for-task-status --sdk tea"]

    dev.STAMP.unlink()
    dev.main(["demo"])
    dev.main(["setup"])
    assert [call.endswith("[dev]") for call in calls() if "install" in call] == [True, False, True]


def test_what_documentation_needs_comes_by_itself(dev):
    """Tests do without its packages, and find all of theirs where these are."""
    calls = stand_in(dev)

    for task in ("test", "docs", "test", "docs", "fuzz", "docs"):
        dev.main([task, *(["xml"] if task == "fuzz" else [])])

    assert [call.rpartition("[")[2] for call in calls() if "install" in call] == [
        "dev]",
        "dev,docs]",
        "fuzz]",
        "dev,docs]",
    ]


def test_fuzzing_installs_its_engine_and_leaves_the_environment_fit_for_all_else(dev):
    """The engine is asked for by nobody else, and once it is there the tests install nothing."""
    calls = stand_in(dev)

    dev.main(["test"])
    dev.main(["fuzz", "xml", "--seconds", "1"])
    dev.main(["test"])

    assert [call.rpartition("[")[2] for call in calls() if "install" in call] == ["dev]", "fuzz]"]
    assert "-m tests.fuzz xml --seconds 1" in calls()


def test_clients_of_other_languages_are_installed_where_these_are(dev, tmp_path, monkeypatch, capfd):
    """What is missing or cannot be installed is told and left out; the tests can run all the same."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "go").write_text("#!/bin/sh\necho go $* in $PWD >&2\nexit 1\n")
    (tools / "go").chmod(0o755)
    (dev.ROOT / "tests/sdk/scripts/go").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tools))

    code = dev.main(["clients"])

    told = capfd.readouterr().err
    assert code == 0
    assert "no npm here" in told
    assert f"go build -o {os.devnull} . in {dev.ROOT}/tests/sdk/scripts/go" in told
    assert "the SDKs of go could not be installed" in told


@pytest.mark.parametrize("task", ["demo", "test", "check", "bench", "crash", "fuzz", "clients", "setup"])
def test_every_task_of_the_help_text_is_there(dev, task, monkeypatch):
    """What is described can be run."""
    stand_in(dev)
    monkeypatch.setattr(dev, "CLIENTS", ())

    assert f"dev.py {task} " in dev.__doc__
    assert dev.main([task, *(["xml"] if task == "fuzz" else [])]) == 0


def test_failed_installation_is_told_and_tried_again(dev, capfd):
    """No stamp is left by an installation that failed."""
    calls = stand_in(dev, fails_on="pip")

    assert dev.main(["test"]) == 1
    assert dev.main(["test"]) == 1

    assert len(calls()) == 2
    assert "could not be installed" in capfd.readouterr().err


def test_exit_code_of_the_tests_is_passed_on(dev):
    """A failing run fails the task."""
    stand_in(dev, fails_on="-m\\ pytest")

    assert dev.main(["test"]) == 7


def test_arguments_go_to_pytest_and_may_choose_the_processes(dev):
    """-n of the caller replaces the usual two processes."""
    calls = stand_in(dev)

    dev.main(["test", "tests/unit", "-n", "0"])

    assert calls()[-1] == "-m pytest tests/unit -n 0"


def test_tests_are_spread_over_processes_that_keep_what_they_compile(dev, monkeypatch):
    """Whoever forbids Python to keep bytecode, as many images do, does not pay for it in each process of the tests."""
    calls = stand_in(dev)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    dev.main(["test", "tests/unit"])

    assert calls()[-1] == "-m pytest -n 4 --dist worksteal tests/unit"
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ


def test_check_runs_everything_and_names_what_failed(dev, capfd):
    """A failing formatter does not hide the types."""
    calls = stand_in(dev, fails_on="ruff")

    assert dev.main(["check"]) == 1

    assert sorted(call.split()[1] for call in calls()[1:]) == ["from", "mypy", "ruff", "ruff"]
    assert "check failed: format, lint" in capfd.readouterr().err


def test_old_python_is_told_what_is_needed(dev, monkeypatch, capfd):
    """The version is checked before anything else happens."""
    monkeypatch.setattr(sys, "version_info", (3, 9, 1, "final", 0))

    assert dev.main(["test"]) == 1
    assert "Python 3.11 or newer is needed, this is 3.9.1" in capfd.readouterr().err


def test_missing_ensurepip_is_told_with_the_package_to_install(dev, monkeypatch, capfd):
    """Debian's Python comes without it."""
    original = builtins.__import__

    def without_ensurepip(name, *arguments, **options):
        if name == "ensurepip":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_ensurepip)

    assert dev.main(["test"]) == 1
    assert f"apt install python{sys.version_info.major}.{sys.version_info.minor}-venv" in capfd.readouterr().err


@pytest.mark.parametrize(("words", "code"), [([], 2), (["bogus"], 2), (["--help"], 0)])
def test_unknown_task_shows_the_tasks(dev, capfd, words, code):
    """The module's own text is the help."""
    assert dev.main(words) == code
    assert "python3 dev.py test" in capfd.readouterr().out


def test_coverage_holds_every_gate_and_names_those_missed(dev, capfd):
    """A gate that is missed does not hide the others."""
    calls = stand_in(dev, fails_on="auth/")
    dev.GATES = ((90.0, "auth/*"), (80.0, "*"))

    code = dev.main(["coverage", "-k", "cron"])

    assert code == 1
    assert capfd.readouterr().err.endswith("too little is tested: auth/*\n")
    assert [call.removeprefix("-m coverage ") for call in calls() if call.startswith("-m coverage")] == [
        "erase",
        "run -m pytest tests/unit tests/wire -n 4 --dist worksteal -m not unmeasured -k cron",
        "combine --quiet",
        "report",
        "report --format total --include auth/* --fail-under 90.0",
        "report --format total --include * --fail-under 80.0",
    ]


def test_coverage_of_all_tests_has_a_gate_of_its_own(dev):
    """What only a running emulator reaches counts there."""
    calls = stand_in(dev)
    dev.GATES_OF_ALL = ((70.0, "all/*"),)

    assert dev.main(["coverage", "--all", "-x"]) == 0

    measured = [call.removeprefix("-m coverage ") for call in calls() if call.startswith("-m coverage")]
    assert measured[1] == "run -m pytest tests -n 4 --dist worksteal -m not unmeasured -x"
    assert measured[-1] == "report --format total --include all/* --fail-under 70.0"


def test_coverage_of_failing_tests_is_not_judged(dev):
    """Their exit code is handed on."""
    calls = stand_in(dev, fails_on="tests/unit")

    assert dev.main(["coverage"]) == 7
    assert "combine" not in "".join(calls())


def test_release_is_made_by_its_tool(dev):
    """With all words, in the environment that has what it needs."""
    calls = stand_in(dev)

    assert dev.main(["release", "1.0.0"]) == 0

    assert [call.rpartition("[")[2] for call in calls() if "install" in call] == ["dev]"]
    assert calls()[-1] == "-m tools.release 1.0.0"
