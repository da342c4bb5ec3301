"""Functions that attack what runs them. What an instance is no protection against is said in docs/fuzzing.md."""

import json
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.sdk, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]


def test_a_function_that_stops_itself_times_out(invoke, victim):
    """A stopped process answers nothing and takes no signal but one; the next call has a new instance."""
    for _ in range(2):
        status, headers, body = invoke("stops-itself")

        assert status == 200
        assert "x-fc-error-type" in {name.lower() for name in headers}
        assert b"timed out" in body
    assert invoke("echo", b"after")[2] == b"after"


@pytest.mark.parametrize("name", ["stops-its-parent", "stops-everybody"])
def test_a_function_that_stops_its_parent_hangs_no_other_call(invoke, victim, name):
    """With namespaces it reaches only itself; without, what starts instances is replaced when it does nothing."""
    assert invoke(name)[0] == 200

    began = time.monotonic()
    for function in ("echo", "stops-itself", name):  # the first ones need a new instance
        assert invoke(function, b"after")[0] == 200
    assert invoke("echo", b"after")[2] == b"after"
    assert time.monotonic() - began < 20
    assert victim.is_well()


def test_a_function_that_empties_tmp_empties_its_own(invoke, victim):
    """A public sample does so; what lies in the machine's folder is not even seen."""
    with tempfile.NamedTemporaryFile(dir="/tmp") as precious:
        seen = invoke("empties-tmp", precious.name.encode())[2]
        if seen == b"True":
            pytest.skip("this kernel gives this user no namespaces")

        assert seen == b"False"
        assert Path(precious.name).exists()


def test_a_function_that_writes_into_every_descriptor_hurts_itself_only(invoke, victim):
    """Its own call may fail; others are answered, and no other call sees what it wrote."""
    for _ in range(2):
        status, _, _ = invoke("writes-everywhere")
        assert status == 200

    assert invoke("echo", b"after")[2] == b"after"
    assert victim.is_well()


def test_a_function_cannot_command_the_emulator_by_the_admin_pages(invoke, victim):
    """It can ask for the health as anybody can; the rest wants a token that it is not given."""
    told = json.loads(invoke("asks-the-admin")[2])

    assert told == {"health": 200, "status": 403, "reset": 403, "stop": 403, "guess": 403, "secrets": []}


def test_a_function_can_read_what_its_user_can(invoke, victim):
    """An instance is a process of the same user: it is no sandbox, and the keys are readable to it.

    Kept as a test so that the documentation stays true.
    """
    keys = (victim.state / "keys.json").resolve()

    assert int(json.loads(invoke("reads-keys", str(keys).encode())[2])) == len(keys.read_text())
