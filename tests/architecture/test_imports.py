"""What a start imports, and what packages say they export."""

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

import emulator

SLOW = {"flask", "werkzeug", "requests", "apscheduler", "moto", "lxml", "cryptography", "yaml"}


def modules_after(statement):
    """Return the names of every module a fresh interpreter has imported after *statement*."""
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "name", ["emulator.cli.main", "emulator.app", "emulator.cli.commands.start", "emulator.composition"]
)
def test_nothing_slow_is_imported_for_a_start(name):
    """The time to the first answered call is not spent on what may never be needed."""
    assert not {module.partition(".")[0] for module in modules_after(f"import {name}")} & SLOW


def test_what_only_some_calls_need_is_not_loaded_with_the_services():
    """Reading definitions and packages, and the modules behind that, come with the first call that needs them."""
    loaded = modules_after("import emulator.cli.commands.start, emulator.composition")

    seldom = {"emulator.services.workflow.languages.document", "emulator.services.fc.catalog.archive", "zipfile"}
    assert not seldom & loaded
    assert not {"emulator.cli.client", "ctypes"} & loaded  # what starts in the background, and what watches a folder


@pytest.mark.unmeasured
def test_choosing_a_command_imports_no_server():
    """Client commands stay quick: neither the server nor sqlite is loaded before it is known which command runs."""
    loaded = modules_after("import emulator.cli.main")

    assert not {"typing", "asyncio", "sqlite3", "http.client", "emulator.app", "emulator.cli.client"} & loaded


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", ["deployments", "flow", "function", "invoke", "lab", "logs", "messages", "server"])
def test_short_commands_load_no_planner_and_start_no_process(name):
    """What draws trees, reads files, starts processes or proposes names comes with the commands and errors that do."""
    loaded = modules_after(f"import emulator.cli.commands.{name}")

    ours = {f"emulator.{each}" for each in ("cli.refusals", "cli.tree_view", "deploy.planner")}
    assert not {"asyncio", "subprocess", "yaml", *ours} & loaded


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", ["flow", "invoke", "lab", "logs", "server"])
def test_what_signs_calls_comes_with_the_first_call_that_is_signed(name):
    """Calls of the admin API carry a token: settle, status or list need neither digests nor dates."""
    loaded = modules_after(f"import emulator.cli.commands.{name}")

    assert not {"hashlib", "hmac", "datetime", "emulator.auth.signed_request", "emulator.http.message"} & loaded


@pytest.mark.unmeasured
@pytest.mark.parametrize(("text", "needed"), [("queue", False), ("队列", True)])
def test_the_character_database_is_loaded_for_text_that_is_not_ascii(text, needed):
    """An English table needs no widths of characters."""
    loaded = modules_after(f"from emulator.cli.output import padded; padded({text!a}, 8)")

    assert ("unicodedata" in loaded) is needed


@pytest.mark.parametrize(
    "name", [each.name for each in pkgutil.walk_packages(emulator.__path__, "emulator.") if each.ispkg]
)
def test_exported_names_are_there(name):
    """Each name in a package's __all__ exists; a package that re-exports names says so in __all__."""
    package = importlib.import_module(name)
    exported = getattr(package, "__all__", [])

    assert len(exported) == len(set(exported))
    assert all(hasattr(package, each) for each in exported)
    public = {
        each
        for each, value in vars(package).items()
        if not each.startswith("_") and getattr(value, "__module__", "").startswith("emulator.")
    }
    assert public <= set(exported)
