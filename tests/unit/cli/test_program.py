"""The real program as a child process: starting, refusing to start, stopping, and client commands against it."""

import json
import signal
import socket
import sqlite3
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

DEADLINE_S = 30


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_a_foreground_start_gracefully(program, number):
    """The exit code is 0 and nothing points to the emulator any more."""
    process, _ = program.start()

    process.send_signal(number)

    assert process.wait(DEADLINE_S) == 0
    assert not (program.folder / ".localyun" / "endpoint.json").exists()


def test_start_without_an_unknown_feature_is_refused(program):
    """A mistyped name would leave the substitute untried."""
    refused = program.run("start", "-d", LOCALYUN_WITHOUT="fork,lock")

    assert refused.returncode == 2
    assert "LOCALYUN_WITHOUT has no lock; there are fork, sessions, locks, " in refused.stderr


def test_background_start_prints_what_clients_need_and_stop_ends_it(program):
    """start -d returns once calls are served; status and stop find the emulator without being told where it is."""
    started = program.run("start", "-d")
    status = program.run("status", "--json")
    stopped = program.run("stop")
    after = program.run("status")

    assert (started.returncode, status.returncode, stopped.returncode, after.returncode) == (0, 0, 0, 3)
    told = json.loads(status.stdout)
    for value in (told["http"], told["https"], told["account"], told["region"], "keys.json"):
        assert value in started.stdout
    assert told["version"] in started.stdout
    assert stopped.stdout == f"stopped {told['http']}\n"
    assert "Start one with: localyun start" in after.stderr


def test_background_start_leaves_its_log_in_the_state_folder(program):
    """The server's own lines go to logs/server.log."""
    assert program.run("start", "-d", "--log-format", "json").returncode == 0
    assert program.run("stop").returncode == 0

    lines = (program.folder / ".localyun" / "logs" / "server.log").read_text().splitlines()

    assert any(json.loads(line)["logger"] == "emulator.access" for line in lines if line.startswith("{"))


def test_env_points_a_shell_at_the_emulator(program):
    """What env prints, evaluated by a shell elsewhere, is enough for client commands there."""
    _, address = program.start()
    elsewhere = program.folder / "elsewhere"
    elsewhere.mkdir()

    env = program.run("env", "--shell", "sh").stdout
    script = f'{env}\ncd "{elsewhere}"; exec "{sys.executable}" -m emulator flow list'
    done = subprocess.run(["sh", "-c", script], env=program.env, capture_output=True, text=True, timeout=DEADLINE_S)

    assert f"export LOCALYUN_ENDPOINT='{address}'" in env
    assert "no keys" not in done.stderr
    assert "no emulator answered" not in done.stderr


@pytest.fixture
def functions(program):
    """A folder with one function that answers, logs and fails when told to; an emulator serves it."""
    code = """
import logging

def handler(event, context):
    logging.getLogger().info("got %s", event.decode())
    if event == b"fail":
        raise ValueError("told to")
    return b"<" + event + b">"
"""
    for path in ("functions/shop/order", "functions/alone"):
        (program.folder / path).mkdir(parents=True)
        (program.folder / path / "index.py").write_text(code)
    program.start()


def test_invoke_prints_what_the_function_returns(program, functions):
    """Functions with and without a service; the event as text or from a file."""
    (program.folder / "event").write_bytes(b"from a file")

    assert program.run("invoke", "shop/order", "--event", "a").stdout == "<a>\n"
    assert program.run("invoke", "shop.LATEST/order").stdout == "<>\n"
    assert program.run("invoke", "alone", "--event-file", "event").stdout == "<from a file>\n"
    assert program.run("invoke", "alone", "--event-file", "-").stdout == "<>\n"


def test_functions_are_listed_with_their_configuration(program, functions):
    """Those of services first, each as other commands name it; all pages of them."""
    listed = json.loads(program.run("function", "list", "--json").stdout)
    table = program.run("function", "list", "--prefix", "shop/").stdout.splitlines()

    assert [each["function"] for each in listed] == ["shop/order", "alone"]
    assert [each["functionName"] for each in listed] == ["order", "alone"]
    assert [line.split()[:2] for line in table] == [["function", "runtime"], ["shop/order", listed[0]["runtime"]]]
    assert program.run("function", "list", "--prefix", "none").stderr.strip() == "Nothing found."


def test_invoke_tells_a_failed_function_from_a_refused_call(program, functions):
    """The function's own answer stays on standard output; both end with 1."""
    failed = program.run("invoke", "alone", "--event", "fail")
    refused = program.run("invoke", "nobody")
    no_file = program.run("invoke", "alone", "--event-file", "nowhere")

    assert (failed.returncode, refused.returncode, no_file.returncode) == (1, 1, 1)
    assert json.loads(failed.stdout)["errorType"] == "ValueError"
    assert "the function failed" in failed.stderr
    assert refused.stdout == ""
    assert refused.stderr.startswith("localyun: FunctionNotFound: ")
    assert "nowhere cannot be read" in no_file.stderr


def test_invoke_shows_the_log_of_the_call(program, functions):
    """On standard error, or in the JSON form."""
    text = program.run("invoke", "alone", "--event", "x", "--log")
    shown = json.loads(program.run("invoke", "alone", "--event", "x", "--log", "--json").stdout)

    assert text.stdout == "<x>\n"
    assert "got x" in text.stderr
    assert shown["result"] == "<x>"
    assert shown["error"] is None
    assert "got x" in shown["log"]


def test_logs_prints_what_functions_have_written(program, functions):
    """Of all functions or of one; an unknown one is an error."""
    program.run("invoke", "alone", "--event", "one")
    program.run("invoke", "shop/order", "--event", "two")

    everything = program.run("logs").stdout
    order = program.run("logs", "shop/order").stdout
    unknown = program.run("logs", "shop/nobody")

    assert "got one" in everything
    assert "got two" in everything
    assert "got two" in order
    assert "got one" not in order
    assert unknown.returncode == 1


def test_logs_follow_shows_new_lines(program, functions):
    """A line written after the command started arrives without asking again."""
    program.run("invoke", "alone", "--event", "before")
    following = subprocess.Popen(
        [sys.executable, "-m", "emulator", "logs", "-f", "alone"],
        cwd=program.folder,
        env=program.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert any("got before" in line for line in following.stdout)
        program.run("invoke", "alone", "--event", "after")
        assert any("got after" in line for line in following.stdout)
    finally:
        following.terminate()
        following.wait(DEADLINE_S)
        following.stdout.close()


def test_reset_keeps_the_keys(program):
    """Resources go, the installation's identity stays."""
    program.start()
    before = program.run("env").stdout

    assert program.run("reset", "--yes").stdout == "reset\n"
    assert program.run("reset", "--json").returncode == 0
    assert program.run("env").stdout == before


def test_state_folder_is_private(program):
    """Other users of the machine can read neither the folder nor the keys."""
    program.run("start", "-d")

    assert (program.folder / ".localyun").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", [[], ["-d"]], ids=["foreground", "background"])
class TestStartThatCannotBe:
    """A start that cannot be says why, what to do, and ends with 1, without a traceback."""

    def refuse(self, program, *words, **env):
        done = program.run("start", *words, **env)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("localyun: ")
        return done.stderr

    def test_port_in_use(self, program, mode):
        """The port is named."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            reason = self.refuse(program, *mode, "--port", str(port))

        assert f"port {port} is in use" in reason
        assert "--port" in reason

    def test_state_folder_in_use(self, program, mode):
        """The process that has it is named."""
        process, _ = program.start()

        reason = self.refuse(program, *mode)

        assert f"(process {process.pid})" in reason
        assert "localyun stop" in reason

    def test_damaged_state(self, program, mode):
        """The file is named and left alone."""
        state = program.folder / ".localyun"
        state.mkdir(mode=0o700)
        (state / "state.db").write_bytes(b"not a database" * 100)

        assert f"{state / 'state.db'} is damaged" in self.refuse(program, *mode)
        assert (state / "state.db").read_bytes().startswith(b"not a database")

    def test_state_of_a_newer_version(self, program, mode):
        """Nothing of it is touched."""
        state = program.folder / ".localyun"
        state.mkdir(mode=0o700)
        with sqlite3.connect(state / "state.db") as database:
            database.execute(
                "CREATE TABLE schema_versions (service TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID"
            )
            database.execute("INSERT INTO schema_versions VALUES ('sts', 99)")
        database.close()

        assert "Update localyun" in self.refuse(program, *mode)

    def test_state_folder_that_cannot_be_made(self, program, mode):
        """A file stands where the folder should be."""
        (program.folder / ".localyun").write_text("")

        assert "must be a folder that this user can write to" in self.refuse(program, *mode)

    def test_damaged_keys(self, program, mode):
        """The file is named, and what deleting it means."""
        state = program.folder / ".localyun"
        state.mkdir(mode=0o700)
        (state / "keys.json").write_text("{")

        assert f"{state / 'keys.json'} cannot be used" in self.refuse(program, *mode)

    def test_address_of_another_machine(self, program, mode):
        """An address that is not ours cannot be listened on."""
        assert "cannot listen on 192.0.2.1" in self.refuse(program, *mode, "--host", "192.0.2.1")

    def test_host_without_an_address(self, program, mode):
        """A name that nothing knows; the ports have nothing to do with it."""
        said = self.refuse(program, *mode, "--host", "nowhere.invalid", "--port", "auto")

        assert "nowhere.invalid: there is no such address or name of one. Check --host." in said

    def test_next_free_ports_there(self, program, mode):
        """Ports that were left to the command are called what they were called."""
        said = self.refuse(program, *mode, "--host", "192.0.2.1", "--port", "auto", "--https-port", "auto")

        assert "with ports auto and auto" in said


def test_broken_configuration_is_wrong_usage(program):
    """The file and the line are named and the exit code is 2, in the background too."""
    (program.folder / "localyun.yaml").write_text("auth: verify\nprot: 1\n")

    for words in (["start"], ["start", "-d"], ["queue", "list"]):
        done = program.run(*words)
        assert done.returncode == 2
        assert done.stderr.startswith("localyun: localyun.yaml:2:1: there is no setting 'prot'; did you mean port?")


def test_stop_names_the_state_folder_that_was_chosen(program):
    """By an option, or by a variable that a shell still has from another project."""
    state = program.folder / "elsewhere"
    assert program.run("start", "-d", LOCALYUN_STATE=str(state)).returncode == 0

    stopped = program.run("stop", LOCALYUN_STATE=str(state))

    assert stopped.stdout.endswith(f" of {state} (LOCALYUN_STATE)\n")


def test_stop_ends_the_emulator_beside_a_broken_file(program):
    """Which is reported all the same."""
    assert program.run("start", "-d").returncode == 0
    file = program.folder / "localyun.yaml"
    file.write_text("prot: 1\n")

    stopped = program.run("stop")
    file.unlink()

    assert stopped.returncode == 0, stopped.stderr
    assert stopped.stderr.startswith("localyun: localyun.yaml:1:1: there is no setting 'prot'")
    assert program.run("status").returncode == 3


@pytest.mark.parametrize(
    "words",
    [["stop"], ["status"], ["flow", "list"], ["invoke", "hello"], ["logs"], ["reset", "--yes"]],
    ids=lambda words: words[0],
)
def test_client_command_without_an_emulator_ends_with_3(program, words):
    """Scripts can tell that nothing runs from a call that failed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    state = program.folder / ".localyun"
    state.mkdir(mode=0o700)
    keys = dict.fromkeys(("accessKeyId", "accessKeySecret", "region", "adminToken"), "x") | {"accountId": "1" * 16}
    (state / "keys.json").write_text(json.dumps(keys))

    done = program.run(*words, LOCALYUN_PORT=str(port))

    assert done.returncode == 3, done.stderr
    assert "no emulator answered" in done.stderr


def test_common_options_may_stand_before_the_command(program):
    """They do what they do behind it, and those behind win; an option that a command has not is refused."""
    elsewhere = program.folder / "elsewhere"

    before = program.run("--state", str(elsewhere), "--json", "config")
    behind = program.run("--state", str(program.folder / "other"), "config", "--state", str(elsewhere), "--json")
    inner = program.run("--state", str(elsewhere), "queue", "list")
    refused = program.run("--json", "exec", "--", "true")

    assert json.loads(before.stdout)["state"]["value"] == str(elsewhere)
    assert behind.stdout == before.stdout
    assert "no emulator" in inner.stderr, inner.stderr
    assert (refused.returncode, "unrecognized arguments: --json" in refused.stderr) == (2, True)


def test_command_after_a_crash_says_how_to_serve_at_the_former_port(program):
    """The folder knows it from the emulator that was killed."""
    process, address = program.start()
    process.kill()
    process.communicate(timeout=DEADLINE_S)

    done = program.run("queue", "list")
    (program.folder / ".localyun" / "endpoint.json").unlink()  # else it would be ended once more

    assert done.returncode == 3
    assert done.stderr.rstrip().endswith(f"localyun start --port {address.rpartition(':')[2]}")


def test_another_program_at_the_port_is_not_taken_for_an_emulator(program):
    """What answers must say that it is one; its pages are not printed."""
    program.start()
    assert program.run("stop").returncode == 0  # the keys stay

    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        asked = [
            program.run(*words, LOCALYUN_ENDPOINT=f"http://127.0.0.1:{server.server_port}")
            for words in (["status"], ["queue", "list"], ["flow", "list"])
        ]
        server.shutdown()

    for done in asked:
        assert done.returncode == 3
        assert "is not localyun" in done.stderr
        assert "<" not in done.stderr
