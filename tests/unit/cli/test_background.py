"""Repeating a command line for the process in the background."""

import shlex

import pytest

from emulator.cli import background
from emulator.cli.background import clock_told, command, flags, lines
from emulator.cli.main import build
from emulator.config import FLAGS, OPTIONS, flag_of, load
from emulator.wire.schema.kinds import Flag, OneOf


def settings_of(words, folder, environ=None):
    given = build(["start"]).parse_args(["start", *words])
    return load({option.name: getattr(given, option.name, None) for option in OPTIONS}, environ or {}, folder)


def test_repeated_flags_lead_to_the_same_settings(tmp_path):
    """Every flag arrives, with paths that no longer depend on the working directory."""
    (tmp_path / "src").mkdir()
    words = [
        *("--host", "127.0.0.1,::1", "--port", "0", "--https-port", "5", "--state", "s", "--functions", "src"),
        *("--ephemeral", "--no-enforce-ram", "--auth", "lenient", "--allowed-hosts", "a,b"),
        *("--durability", "full", "--log-format", "json", "--log-level", "debug"),
    ]
    settings = settings_of(words, tmp_path)

    assert settings_of(flags(settings), tmp_path / "src").config == settings.config


SAMPLES = {
    "host": "127.0.0.1,::1", "port": "auto", "https_port": "5", "state": "s", "functions": "src", "log_file": "a.log",
    "allowed_hosts": "a,b", "allow_push_to": "10.0.0.0/8,c", "keep_executions": "3",
    "push_retry_scale": "0.01", "seed": "7", "start_at": "2026-01-01T00:00:00.250Z",
}  # fmt: skip
"""Texts of options that are neither flags nor choices."""


@pytest.mark.parametrize("option", [each for each in OPTIONS if FLAGS in each.only], ids=lambda each: each.name)
def test_each_flag_arrives_as_it_was_given(option, tmp_path):
    """Also those whose value is another one inside than on the command line."""
    (tmp_path / "src").mkdir()
    if isinstance(option.kind, Flag):
        given = [[flag_of(option)], [flag_of(option).replace("--", "--no-", 1)]]
    else:
        texts = option.kind.choices if isinstance(option.kind, OneOf) else [SAMPLES[option.name]]
        given = [[flag_of(option), each] for each in texts]
    for words in given:
        settings = settings_of(words, tmp_path)
        again = settings_of(flags(settings), tmp_path / "src")
        assert again.origins[option.name] == flag_of(option)
        assert getattr(again.config, option.name) == getattr(settings.config, option.name)


def test_environment_and_file_are_not_repeated(tmp_path):
    """The process reads them itself, so that origins stay true."""
    assert flags(settings_of([], tmp_path, {"LOCALYUN_PORT": "7"})) == []


@pytest.mark.parametrize(
    ("offset_ms", "frozen", "text"),
    [
        (0, False, ""),
        (86_399_999, False, "2027-01-01T00:00:00.000Z, 1d ahead of this machine until localyun reset"),
        (-20_400, False, "2027-01-01T00:00:00.000Z, 20s behind this machine until localyun reset"),
        (-400, False, ""),
        (5, True, "frozen at 2027-01-01T00:00:00.000Z; localyun clock unfreeze releases it"),
    ],
    ids=["the machine's", "moved", "behind", "hardly apart", "frozen"],
)
def test_a_moved_clock_is_told(monkeypatch, offset_ms, frozen, text):
    """How far ahead it is, or where it stands; nothing of one that has not been touched."""
    monkeypatch.setattr("emulator.cli.background.command", lambda: "localyun")

    assert clock_told({"now": "2027-01-01T00:00:00.000Z", "offset_ms": offset_ms, "frozen": frozen}) == text


def test_command_can_be_copied_into_a_shell(monkeypatch, tmp_path):
    """The path of an environment with a space in it is quoted, whether the script or its Python is called."""
    python = tmp_path / "a b" / "python3"
    monkeypatch.setattr("sys.executable", str(python))
    monkeypatch.setenv("PATH", "")

    module = shlex.split(command())
    python.parent.mkdir()
    python.with_name("localyun").touch()
    script = shlex.split(command())
    monkeypatch.chdir(tmp_path)

    assert module == [str(python), "-m", "emulator"]
    assert script == [str(python.with_name("localyun"))]
    assert command() == "'a b/localyun'"


STATUS = {
    "http": "h",
    "https": "s",
    "account": "1",
    "region": "r",
    "version": "1",
    "pid": 7,
    "functions": [],
    "clock": {"now": "", "offset_ms": 0, "frozen": False},
}


def test_folder_of_functions_is_named_unless_all_were_uploaded(tmp_path):
    """It need not exist: without functions the line says where to put them."""
    config = settings_of([], tmp_path).config

    def shown(*functions):
        return next(
            line for line in lines(config, {**STATUS, "functions": functions}) if line.startswith("  functions")
        ).split()[1:]

    assert shown() == ["none", "yet;", "folder", str(tmp_path / "functions")]
    assert shown("demo/a") == ["demo/a"]
    (tmp_path / "functions").mkdir()
    assert shown("demo/a") == ["none", "yet;", "folder", str(tmp_path / "functions;"), "uploaded:", "demo/a"]
    (tmp_path / "functions" / "demo" / "b").mkdir(parents=True)
    assert shown("demo/b") == ["demo/b;", "folder", str(tmp_path / "functions")]


@pytest.mark.usefixtures("chinese")
def test_what_a_start_finds_is_in_the_users_language(tmp_path):
    """Mistakes in the functions folder and triggers that wait, as later commands say them."""
    status = {
        **STATUS,
        "waiting": ["trigger q of hello: the queue 'orders' does not exist"],
        "problems": ["/f.yml:1:1: timeout must be a whole number"],
    }

    shown = "\n".join(lines(settings_of([], tmp_path).config, status))

    assert "函数 hello 的触发器 q：队列 'orders' 不存在" in shown
    assert "/f.yml:1:1: timeout 必须是整数" in shown


def test_start_in_the_background_waits_for_the_certificates(tmp_path, monkeypatch):
    """The pages name their files: the emulator's answer to who asks for its proxy comes when these are there."""
    asked = []

    class Client:
        def admin(self, method, page):
            asked.append(page)
            return {"hooks": 0}

        def admin_address(self, page, member):
            asked.append(page)

    class Process:
        pid, returncode = 1, None

        def poll(self):
            return None

    monkeypatch.setattr(background, "_spawn", lambda *_: Process())
    monkeypatch.setattr(background, "_serves", lambda *_: True)
    monkeypatch.setattr("emulator.cli.client.connect", lambda *_, **__: Client())
    background.launch(settings_of([], tmp_path))

    assert asked[-1] == "proxy"
