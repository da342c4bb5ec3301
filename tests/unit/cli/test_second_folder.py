"""Several emulators of one user: whose it is that answers, free ports, and keys that work."""

import json
import os
import shutil
import socket
import sys
from contextlib import suppress

import pytest

from emulator.cli import endpoint
from emulator.cli.commands.start import started
from emulator.cli.endpoint import Running, registry, running, with_ports
from emulator.config import AUTO_PORT, Config, load
from emulator.gateway.server import PortInUse
from emulator.kernel.frozen import replace
from emulator.kernel.tied import Starter


@pytest.fixture
def folders(program, tmp_path_factory):
    """Two working directories; in the first one an emulator runs. Returns it, its port and a runner for the second."""
    other = tmp_path_factory.mktemp("other")
    _, address = program.start()
    port = address.rpartition(":")[2]
    first = program.folder

    def in_other(*words, **env):
        program.folder = other
        try:
            return program.run(*words, LOCALYUN_PORT=port, **env)
        finally:
            program.folder = first

    return program, port, in_other


def test_clients_of_another_folder_say_whose_emulator_answers(folders):
    """Not Forbidden, not InvalidAccessKeyId: the folder that is served, and what to do."""
    program, _, in_other = folders

    for words in (("status",), ("env",), ("queue", "list"), ("exec", "true")):
        refused = in_other(*words)

        assert refused.returncode == 3, words
        assert f"belongs to {program.folder / '.localyun'}" in refused.stderr
        assert "localyun start --port auto" in refused.stderr
        assert refused.stdout == ""
    assert program.run("status").returncode == 0  # it has not been stopped


@pytest.mark.parametrize("words", [("status",), ("queue", "list")])
def test_clients_in_a_folder_below_say_that_the_emulator_above_runs(program, words):
    """Instead of how to start a second one there."""
    _, address = program.start()
    state, above = program.folder / ".localyun", program.folder
    program.folder = above / "functions" / "hello"
    program.folder.mkdir(parents=True)

    refused = program.run(*words, LOCALYUN_PORT=address.rpartition(":")[2])
    program.folder = above

    assert refused.returncode == 3
    assert f"The emulator of {above}, a folder above, runs: go there, or use it with --state {state}." in refused.stderr
    assert "--port auto" not in refused.stderr


def test_stop_leaves_the_emulator_of_another_folder_alone(folders):
    """It says whose it is and how to end that one, not how to start one."""
    program, _, in_other = folders
    state = program.folder / ".localyun"

    refused = in_other("stop")

    assert refused.returncode == 1
    assert f"belongs to {state}" in refused.stderr
    assert f"Nothing was stopped; localyun stop --state {state} ends it." in refused.stderr
    assert program.run("status").returncode == 0


def test_stop_ends_the_emulator_of_a_deleted_folder(folders):
    """Its keys are gone, so that it cannot be called any more; other commands say so and name the way out."""
    program, port, _ = folders
    state = program.folder / ".localyun"
    shutil.rmtree(state)

    told = program.run("status", LOCALYUN_PORT=port)
    stopped = program.run("stop")

    assert told.returncode == 3
    assert f"its state folder {state} was deleted; localyun stop --state {state} ends it." in told.stderr
    assert stopped.stdout == f"stopped http://127.0.0.1:{port}\n"
    assert program.run("list", "--json").stdout == "[]\n"


def test_stop_without_an_emulator_says_what_runs_elsewhere(program):
    """Not how to start one: with one running, how to stop it; with none, that there is none."""
    elsewhere = program.folder / "other"
    elsewhere.mkdir()
    program.start()

    def stop():
        return program.run("stop", "--state", str(elsewhere), LOCALYUN_ENDPOINT="http://127.0.0.1:1")

    one = stop()
    ended = program.run("stop")
    none = stop()

    assert (one.returncode, ended.returncode, none.returncode) == (3, 0, 3)
    stopping = f"localyun stop --state {program.folder / '.localyun'}"
    assert one.stderr.endswith(f"Nothing was stopped; {stopping} ends your only running emulator.\n")
    assert none.stderr.endswith("Nothing was stopped: you have no running emulator.\n")


def test_variables_of_env_are_enough_where_the_state_folder_is_not(program):
    """As on the host of a container: calls are signed, and the admin API is open to who has the token."""
    program.start()
    printed = program.run("env", "--shell", "dotenv").stdout
    variables = dict(line.split("=", 1) for line in printed.splitlines()) | {"LOCALYUN_STATE": "/data"}
    without = {**variables, "LOCALYUN_TOKEN": ""}

    made = program.run("queue", "create", "orders", **variables)
    moved = program.run("clock", "advance", "1h", **variables)
    refused = program.run("clock", "advance", "1h", **without)

    assert (made.returncode, moved.returncode, refused.returncode) == (0, 0, 1), made.stderr + moved.stderr
    assert "or set LOCALYUN_TOKEN" in refused.stderr


def test_second_start_in_a_folder_says_that_its_emulator_runs(folders):
    """It can be used; the folder is not taken by a stranger."""
    program, _, _ = folders

    again = program.run("start", "-d", LOCALYUN_PORT="0")

    assert again.returncode == 1
    assert f"an emulator is already running for {program.folder / '.localyun'} (process" in again.stderr


def test_shell_of_another_emulator_is_told_which_variable_selects_it(folders):
    """`--state` comes before what `eval "$(localyun env)"` has set, and the way out is said."""
    program, port, in_other = folders
    first = f"http://127.0.0.1:{port}"

    refused = in_other("queue", "list", LOCALYUN_ENDPOINT=first)
    own = in_other("start", "-d", "--port", "auto", LOCALYUN_ENDPOINT=first)
    stopped = in_other("stop", "--state", ".localyun", LOCALYUN_ENDPOINT=first)

    assert "In this shell, LOCALYUN_ENDPOINT selects it" in refused.stderr
    assert own.returncode == 0, own.stderr
    assert stopped.returncode == 0, stopped.stderr
    assert program.run("status").returncode == 0


def test_start_on_a_port_in_use_names_its_emulator(folders):
    """And the ways out."""
    program, port, in_other = folders

    refused = in_other("start", "-d")

    assert refused.returncode == 1
    assert f"port {port} is in use by the emulator of {program.folder / '.localyun'}" in refused.stderr
    assert "--port auto" in refused.stderr


def test_list_has_every_emulator_of_the_user_and_marks_the_own(folders):
    """Both of them, and neither once they have ended."""
    program, _, in_other = folders
    assert in_other("start", "-d", "--port", "0").returncode == 0

    listed = json.loads(program.run("list", "--json").stdout)
    marked = [line for line in program.run("list").stdout.splitlines() if line.startswith("*")]

    states = {row["state"] for row in listed}
    assert len(states) == 2
    assert str(program.folder / ".localyun") in states
    assert len(marked) == 1
    assert marked[0].endswith(str(program.folder / ".localyun"))
    assert in_other("stop").returncode == 0
    assert program.run("stop", "--json").returncode == 0
    assert json.loads(program.run("list", "--json").stdout) == []


def test_env_carries_the_state_folder_so_that_admin_commands_work_anywhere(folders, tmp_path):
    """`eval "$(localyun env)"`, then another directory."""
    program, _, in_other = folders
    pairs = json.loads(program.run("env", "--json").stdout)

    status = in_other("status", "--json", **pairs)

    assert pairs["LOCALYUN_STATE"] == str(program.folder / ".localyun")
    assert pairs["ALIBABA_CLOUD_ACCOUNT_ID"] == pairs["LOCALYUN_ACCOUNT_ID"]
    assert json.loads(status.stdout)["state"] == str(program.folder / ".localyun")


GIVEN = {
    "LOCALYUN_ACCESS_KEY_ID": "givenkey",
    "LOCALYUN_ACCESS_KEY_SECRET": "givensecret",
    "LOCALYUN_ACCOUNT_ID": "1234567890123456",
}


def test_keys_given_at_the_start_are_those_that_are_printed_and_used(program):
    """The shell of later commands has no variables; keys.json holds other keys."""
    started = program.run("start", "-d", **GIVEN)

    assert "given at the start, givenkey" in started.stdout
    assert json.loads(program.run("env", "--json").stdout)["ALIBABA_CLOUD_ACCESS_KEY_ID"] == "givenkey"
    assert program.run("queue", "list").returncode == 0
    assert "OSS_ACCESS_KEY_ID=givenkey" in program.run("exec", "env").stdout


def test_client_with_other_keys_says_which_emulator_it_reached(program):
    """For a call the refusal names it; env prints the keys that work."""
    program.run("start", "-d")
    own = json.loads(program.run("env", "--json").stdout)

    refused = program.run("queue", "list", **GIVEN)
    of_own = {name: own[name] for name in ("LOCALYUN_ACCESS_KEY_ID", "LOCALYUN_ACCOUNT_ID")}
    wrong = program.run("queue", "list", LOCALYUN_ACCESS_KEY_SECRET="another", **of_own)
    printed = program.run("env", "--json", **GIVEN)

    assert f"reached the emulator of {program.folder / '.localyun'}" in refused.stderr
    assert "givenkey is not one of its keys" in refused.stderr
    assert f"its key {own['LOCALYUN_ACCESS_KEY_ID']} has another secret" in wrong.stderr
    assert json.loads(printed.stdout)["LOCALYUN_ACCESS_KEY_ID"] == own["LOCALYUN_ACCESS_KEY_ID"]
    assert "givenkey in this shell is not one of this emulator" in printed.stderr


def test_auto_is_read_as_a_port(tmp_path):
    """On the command line, in the environment and in the file."""
    assert load({"port": "auto"}, {}, tmp_path).config.port == AUTO_PORT
    assert load({}, {"LOCALYUN_HTTPS_PORT": "auto"}, tmp_path).config.https_port == AUTO_PORT


def test_auto_takes_the_first_pair_that_is_free(monkeypatch):
    """A port that was chosen stays."""
    monkeypatch.setattr(endpoint, "is_taken", {8868, 8871}.__contains__)

    moved = next(with_ports(Config(port=AUTO_PORT, https_port=AUTO_PORT)))
    kept = next(with_ports(Config(port=AUTO_PORT, https_port=9000)))

    assert (moved.port, moved.https_port) == (8872, 8873)
    assert (kept.port, kept.https_port) == (8870, 9000)
    assert list(with_ports(Config(port=1, https_port=2))) == [Config(port=1, https_port=2)]


@pytest.mark.parametrize("taken", ["the first", "the second"])
async def test_auto_goes_on_where_a_port_was_taken_since_it_was_found_free(monkeypatch, tmp_path, taken):
    """The next pair is taken; a port that was chosen is not left, and what is left closes."""
    monkeypatch.setattr(endpoint, "is_taken", lambda port: False)
    with a_port_below_those_the_system_lends() as listener:
        port = listener.getsockname()[1] - (taken == "the second")
        monkeypatch.setattr(endpoint, "DEFAULT_PORT", port)
        monkeypatch.setattr(endpoint, "DEFAULT_HTTPS_PORT", port + 1)
        config = Config(state=tmp_path / "state", port=AUTO_PORT, https_port=AUTO_PORT)

        emulator = await started(config, Starter())
        try:
            assert (emulator.config.port, emulator.config.https_port) == (port + 2, port + 3)
            with pytest.raises(PortInUse):
                await started(replace(config, state=tmp_path / "other", port=listener.getsockname()[1]), Starter())
        finally:
            await emulator.stop()


@pytest.mark.parametrize(
    ("chosen", "https"),
    [({}, 8869), ({"port": "8868"}, 8869), ({"port": "9000"}, AUTO_PORT), ({"port": "auto"}, AUTO_PORT),
     ({"port": "9000", "https_port": "8869"}, 8869)],
)  # fmt: skip
def test_https_port_nobody_chose_goes_with_the_other(tmp_path, chosen, https):
    """Who moves the one port away from a first emulator need not name the second."""
    assert load(chosen, {}, tmp_path).config.https_port == https


WITH_USUAL_PORT = """
import sys
from contextlib import suppress
from emulator import config
config.DEFAULT_PORT, config.DEFAULT_HTTPS_PORT = {port}, {port} + 1
from emulator.cli.main import main
sys.exit(main())
"""


def a_port_below_those_the_system_lends():
    """Return a listener whose neighbours no client and no other test gets from the system meanwhile."""
    for port in range(20_000 + os.getpid() % 1_000 * 8, 32_000, 8):
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    raise AssertionError("no port is free")


def test_start_on_auto_beside_a_taken_port(program):
    """The address is recorded, so that commands find it."""
    with a_port_below_those_the_system_lends() as taken:
        port = taken.getsockname()[1]
        program.command = [sys.executable, "-c", WITH_USUAL_PORT.format(port=port)]
        done = program.run("start", "-d", "--json", "--port", "auto", LOCALYUN_HTTPS_PORT="")
        started = json.loads(done.stdout)

        assert started["http"] != f"http://127.0.0.1:{port}"
        assert json.loads(program.run("status", "--json").stdout)["http"] == started["http"]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty registry."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    registry().mkdir()
    return registry()


def an_entry(**changes):
    texts = dict.fromkeys(("http", "https", "state", "account", "installation", "version"), "x")
    return {"pid": os.getpid(), **texts, **changes}


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", json.dumps(an_entry(pid="many")), json.dumps(an_entry(pid=2**22 + 1))]
)
def test_stale_and_broken_entries_go(folder, content):
    """A killed emulator leaves its entry behind; whoever looks next removes it."""
    (folder / "1.json").write_text(content)
    (folder / "2.json").write_text(json.dumps(an_entry()))

    assert running() == [Running(**an_entry())]
    assert [path.name for path in folder.iterdir()] == ["2.json"]


def test_a_registry_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    """Starting goes on."""
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    endpoint.register({**an_entry(), "functions": []}, tmp_path)
    endpoint.unregister()

    assert running() == []
