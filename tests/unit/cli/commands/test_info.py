"""What env, config and version print, without an emulator."""

import json
import subprocess

import pytest

from emulator import __version__
from emulator.cli.commands.server import _assignment
from emulator.cli.endpoint import write
from emulator.cli.main import main
from emulator.config import OPTIONS, Config, variable_of
from emulator.kernel.ids import RandomIds
from emulator.keyfile import load_or_create


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory and an environment without localyun's variables."""
    monkeypatch.chdir(tmp_path)
    for option in OPTIONS:
        monkeypatch.delenv(variable_of(option), raising=False)
    monkeypatch.delenv("LOCALYUN_ENDPOINT", raising=False)
    monkeypatch.setenv("LOCALYUN_PORT", "1")  # where nothing listens; the usual port may be taken on this machine
    return tmp_path


def test_version_is_the_package_s(folder, capsys):
    """Both forms tell the package's version."""
    assert main(["version"]) == 0
    assert main(["version", "--json"]) == 0
    assert main(["--version"]) == 0

    text, *_ = capsys.readouterr().out.partition("\n")
    assert text == f"localyun {__version__}"


def test_config_tells_every_setting_and_its_source(folder, capsys, monkeypatch):
    """One row for each option, with the value that holds and where it comes from."""
    (folder / "localyun.yaml").write_text("auth: lenient\n")
    monkeypatch.setenv("LOCALYUN_PORT", "0")

    assert main(["config", "--json"]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == {option.name for option in OPTIONS}
    assert shown["auth"] == {"value": "lenient", "source": "localyun.yaml:1"}
    assert shown["port"] == {"value": 0, "source": "LOCALYUN_PORT"}
    assert shown["state"] == {"value": str(folder / ".localyun"), "source": "default"}


@pytest.mark.parametrize(("command", "code"), [("list", 0), ("status", 3), ("stop", 3), ("config", 2)])
def test_an_emulator_is_found_and_stopped_despite_a_broken_file(folder, capsys, command, code):
    """The file is complained about; only commands that need its settings refuse it."""
    (folder / "localyun.yaml").write_text("x: [")

    assert main([command]) == code

    assert "localyun.yaml:1:4: not valid YAML" in capsys.readouterr().err


def test_config_says_where_the_emulator_of_the_folder_runs(folder, capsys):
    """Its settings are those of the next start."""
    state = folder / ".localyun"
    state.mkdir()
    write(state, "http://127.0.0.1:8870", None)

    assert main(["config"]) == 0

    out, err = capsys.readouterr()
    assert "cn-hangzhou" in out
    assert "http://127.0.0.1:8870" in err


def test_config_never_prints_the_secret(folder, capsys, monkeypatch):
    """A given secret is masked in both forms."""
    monkeypatch.setenv("LOCALYUN_ACCESS_KEY_ID", "mykey")
    monkeypatch.setenv("LOCALYUN_ACCESS_KEY_SECRET", "hush-hush-hush")

    assert main(["config"]) == main(["config", "--json"]) == 0

    out = capsys.readouterr().out
    assert "mykey" in out
    assert "hush" not in out


def test_env_prints_the_keys_of_the_state_folder(folder, capsys):
    """The keys are there for a shell even before the next start."""
    state = folder / ".localyun"
    state.mkdir()
    keys = load_or_create(Config(state=state), RandomIds())

    assert main(["env", "--json"]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert shown["ALIBABA_CLOUD_ACCESS_KEY_ID"] == shown["LOCALYUN_ACCESS_KEY_ID"] == keys.access_key_id
    assert shown["ALIBABA_CLOUD_ACCESS_KEY_SECRET"] == keys.access_key_secret
    assert shown["LOCALYUN_ACCOUNT_ID"] == keys.account_id
    assert shown["LOCALYUN_ENDPOINT"] == "http://127.0.0.1:1"


def test_env_without_a_state_folder_says_where_to_look(folder, capsys):
    """Nothing was started here: the message names the folder and the flag."""
    assert main(["env"]) == 3
    assert "no emulator has been started for" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["plain", "two words", "it's", '$HOME `x` "y" \\ \\\'', "a;b&c|d"])
def test_sh_assignments_keep_every_character(value):
    """A shell that reads the line holds exactly the value."""
    script = _assignment("sh", "X", value) + '\nprintf %s "$X"'

    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout == value


def test_other_shells_have_their_own_quoting():
    """fish and PowerShell escape quotes their way; dotenv files take the value as it is."""
    assert _assignment("fish", "X", "it's \\") == "set -gx X 'it\\'s \\\\'"
    assert _assignment("powershell", "X", "it's") == "$env:X = 'it''s'"
    assert _assignment("dotenv", "X", "a b") == "X=a b"
