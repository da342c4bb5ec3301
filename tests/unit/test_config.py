"""Configuration: four sources, one result, clear refusals."""

from pathlib import Path

import pytest

from emulator.config import OPTIONS, Config, ConfigError, load


def write(folder: Path, text: str) -> Path:
    (folder / "localyun.yaml").write_text(text, encoding="utf-8")
    return folder


def test_defaults_hold_when_nothing_is_given(tmp_path):
    """Without any source every value is the documented default."""
    settings = load({}, {}, tmp_path)

    assert settings.config == Config(state=tmp_path / ".localyun", functions=tmp_path / "functions")
    assert set(settings.origins.values()) == {"default"}


def test_flag_wins_over_variable_wins_over_file(tmp_path):
    """Each source hides the ones below it and is named as the value's origin."""
    write(tmp_path, "port: 1001\nhttps_port: 1002\nauth: lenient\n")

    settings = load({"port": "3001"}, {"LOCALYUN_PORT": "2001", "LOCALYUN_HTTPS_PORT": "2002"}, tmp_path)

    assert (settings.config.port, settings.config.https_port, settings.config.auth) == (3001, 2002, "lenient")
    assert settings.origins["port"] == "--port"
    assert settings.origins["https_port"] == "LOCALYUN_HTTPS_PORT"
    assert settings.origins["auth"] == "localyun.yaml:3"


def test_empty_variable_counts_as_not_set(tmp_path):
    """Compose files and CI systems hand over empty variables; they change nothing."""
    settings = load({}, {"LOCALYUN_PORT": ""}, tmp_path)

    assert settings.config.port == 8868
    assert settings.origins["port"] == "default"


def test_functions_folder_is_that_of_the_working_directory(tmp_path):
    """A folder named functions is served without being asked for, also when it is made after the start."""
    assert load({}, {}, tmp_path).config.functions == tmp_path / "functions"


def test_relative_paths_start_from_the_working_directory(tmp_path):
    """A relative state folder lies in the working directory, whoever named it."""
    assert load({"state": "a"}, {}, tmp_path).config.state == tmp_path / "a"
    assert load({}, {}, write(tmp_path, "state: b")).config.state == tmp_path / "b"


@pytest.mark.parametrize(
    ("variable", "value", "field", "expected"),
    [
        ("LOCALYUN_HOST", "0.0.0.0, ::", "host", ("0.0.0.0", "::")),
        ("LOCALYUN_HOST", "[::1]", "host", ("::1",)),
        ("LOCALYUN_PORT", "0", "port", 0),
        ("LOCALYUN_EPHEMERAL", "yes", "ephemeral", True),
        ("LOCALYUN_ENFORCE_RAM", "0", "enforce_ram", False),
        ("LOCALYUN_AUTH", "lenient", "auth", "lenient"),
        ("LOCALYUN_DURABILITY", "full", "durability", "full"),
        ("LOCALYUN_LOG_FORMAT", "json", "log_format", "json"),
        ("LOCALYUN_LOG_LEVEL", "debug", "log_level", "debug"),
        ("LOCALYUN_ACCOUNT_ID", "1234567890123456", "account_id", "1234567890123456"),
        ("LOCALYUN_REGION", "cn-shanghai", "region", "cn-shanghai"),
        ("LOCALYUN_ALLOWED_HOSTS", "localyun,emulator.test", "allowed_hosts", ("localyun", "emulator.test")),
        ("LOCALYUN_PUSH_RETRY_SCALE", "0.01", "push_retry_scale", 0.01),
        ("LOCALYUN_RUNTIMES", "python2.7=/bin/sh", "runtimes", {"python2.7": Path("/bin/sh")}),
    ],
)
def test_every_variable_is_read(tmp_path, variable, value, field, expected):
    """Texts of the environment become typed values."""
    assert getattr(load({}, {variable: value}, tmp_path).config, field) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port: many", "localyun.yaml:1:1: port must be a whole number from 0 to 65535, or auto, not 'many'"),
        ("\nport: 70000", "localyun.yaml:2:1: port must be a whole number from 0 to 65535, or auto, not 70000"),
        ("port: true", "localyun.yaml:1:1: port must be a whole number"),
        ("prot: 1", "localyun.yaml:1:1: there is no setting 'prot'; did you mean port?"),
        ("queue: {}", "localyun.yaml:1:1: there is no setting 'queue'; did you mean queues?"),
        ("https-port: 1", "localyun.yaml:1:1: there is no setting 'https-port'; did you mean https_port?"),
        ("port: 1\nport: 2", "localyun.yaml:2:1: port is given twice"),
        ("- port", "localyun.yaml:1:1: the file must have settings"),
        ("port: [", "localyun.yaml:1:7: not valid YAML"),
        ("queues:\n  a:\n  b\n", "localyun.yaml:3:3: not valid YAML: a name must be followed by ': '"),
        ("queues:\n  a:\n  b\ntopics:\n", "localyun.yaml:3:3: not valid YAML: a name must be followed by ': '"),
        ("port: 'auto\nhost: x\n", "localyun.yaml:1:7: not valid YAML: a quoted text does not end"),
        ("queue: {a: }", "localyun.yaml:1:1: there is no setting 'queue'; did you mean queues?"),
        ("region: \x00", "localyun.yaml:1:9: not valid YAML"),
        (
            "region: 2001-99-99",
            "localyun.yaml:1:1: region must be the id of a region such as cn-hangzhou, not '2001",
        ),
        ("queues: &a {b: *a}", "localyun.yaml:1:16: not valid YAML: a value contains itself"),
        ("auth: none", "localyun.yaml:1:1: auth must be verify or lenient, not 'none'"),
        ("host: []", "localyun.yaml:1:1: host must be an address"),
        ("host: 5", "localyun.yaml:1:1: host must be an address"),
        ("allow_push_to: 10.0.0.0/33", "localyun.yaml:1:1: allow_push_to must be an address"),
        ("allow_push_to: a b", "localyun.yaml:1:1: allow_push_to must be an address"),
        ("allowed_hosts: [fine, 'http://foo']", "localyun.yaml:1:1: allowed_hosts must be an address"),
        ("functions: nowhere", "localyun.yaml:1:1: functions must be the path of an existing folder"),
        ("ephemeral: perhaps", "localyun.yaml:1:1: ephemeral must be true or false"),
        ("runtimes: [a]", "localyun.yaml:1:1: runtimes must be a mapping"),
        ("runtimes: {python3.10: /no/such/python}", "localyun.yaml:1:1: runtimes must be a mapping to existing"),
        ("account_id: 12a", "localyun.yaml:1:1: account_id must be 1 to 32 digits"),
        ("region: Hangzhou!", "localyun.yaml:1:1: region must be the id of a region"),
        ("push_retry_scale: 0", "localyun.yaml:1:1: push_retry_scale must be a number from 0.001 to 10, not 0"),
        ("push_retry_scale: .nan", "localyun.yaml:1:19: not valid YAML: not a number JSON can hold"),
        ("push_retry_scale: fast", "localyun.yaml:1:1: push_retry_scale must be a number from 0.001 to 10, not 'fast'"),
        ("push_retry_scale: yes", "localyun.yaml:1:1: push_retry_scale must be a number from 0.001 to 10, not True"),
        ("port: 5000\nhttps_port: 5000", "localyun.yaml:2:1: http and https cannot share port 5000"),
        ("access_key_id: abcdef", "localyun.yaml:1:1: access_key_id needs access_key_secret with it"),
        ("access_key_secret: abcdefgh", "localyun.yaml:1:1: access_key_secret needs access_key_id with it"),
        ("auth: lenient\nhost: 0.0.0.0", "localyun.yaml:1:1: auth lenient works on loopback addresses only"),
    ],
)
def test_broken_file_is_refused_with_its_line(tmp_path, text, message):
    """A setting that cannot be used names the file and the line."""
    with pytest.raises(ConfigError) as caught:
        load({}, {}, write(tmp_path, text))

    assert str(caught.value).startswith(message)


def test_all_mistakes_in_the_file_are_reported(tmp_path):
    """One per line, in the order of the file."""
    (tmp_path / "localyun.yaml").write_text("port: x\nprot: 1\nauth: none\nregion: cn-hangzhou\n")

    with pytest.raises(ConfigError) as refused:
        load({}, {}, tmp_path)

    assert [line[:20] for line in str(refused.value).splitlines()] == [
        "localyun.yaml:1:1: p",
        "localyun.yaml:2:1: t",
        "localyun.yaml:3:1: a",
    ]


def test_digits_that_begin_with_zero_need_quotes(tmp_path):
    """YAML would make another number of them."""
    file = tmp_path / "localyun.yaml"
    file.write_text("account_id: 0123\n")

    with pytest.raises(ConfigError, match="account_id: a number that begins with 0 needs quotes"):
        load({}, {}, tmp_path)

    file.write_text("account_id: '0123'\nport: 0\n")
    assert load({}, {}, tmp_path).config.account_id == "0123"


def test_a_mistake_in_the_file_is_found_behind_a_flag(tmp_path):
    """The next command, which has not the flag, would refuse the file."""
    with pytest.raises(ConfigError, match=r"^localyun\.yaml:1:1: port must be"):
        load({"port": "auto"}, {}, write(tmp_path, "port: many"))


def test_secret_is_not_repeated_in_an_error(tmp_path):
    """A secret that cannot be used does not appear in the message."""
    with pytest.raises(ConfigError) as caught:
        load({}, {"LOCALYUN_ACCESS_KEY_SECRET": "short"}, tmp_path)

    assert "short" not in str(caught.value)


def test_isolation_needs_a_home_folder_of_its_own(tmp_path, monkeypatch):
    """A user without one has the whole machine as home."""
    monkeypatch.setenv("HOME", "/")

    with pytest.raises(ConfigError, match=r"^LOCALYUN_ISOLATE: isolate needs a home folder, and HOME is /$"):
        load({}, {"LOCALYUN_ISOLATE": "1"}, tmp_path)


def test_a_user_without_a_home_folder(tmp_path, monkeypatch):
    """Isolation keeps the rest apart; only a path that begins with the home folder cannot be had."""
    monkeypatch.setattr(Path, "home", classmethod(_homeless))
    monkeypatch.setattr(Path, "expanduser", _homeless)

    with pytest.raises(ConfigError, match=r"^LOCALYUN_STATE: state must be a path without ~, because there is no such"):
        load({}, {"LOCALYUN_STATE": "~/state"}, tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(Path, "home", classmethod(_homeless))
    assert load({}, {"LOCALYUN_ISOLATE": "1"}, tmp_path).config.isolate


def _homeless(_):
    raise RuntimeError("Could not determine home directory.")


def test_key_that_looks_like_a_real_one_is_refused(tmp_path):
    """A cloud key in the environment is not taken over."""
    environ = {"LOCALYUN_ACCESS_KEY_ID": "LTAI5tExampleExample", "LOCALYUN_ACCESS_KEY_SECRET": "x" * 30}

    with pytest.raises(ConfigError, match="looks like a real cloud access key"):
        load({}, environ, tmp_path)


def test_resource_keys_are_kept_as_written(tmp_path):
    """Keys that describe resources are no settings and no errors."""
    settings = load({}, {}, write(tmp_path, "queues:\n  - name: orders\nport: 0\nhttps_port: 0\n"))

    assert settings.config.resources == {"queues": [{"name": "orders"}]}
    assert settings.config.port == 0


def test_empty_file_changes_nothing(tmp_path):
    """A file of comments is as good as none."""
    assert load({}, {}, write(tmp_path, "# nothing yet\n")) == load({}, {}, tmp_path)


def test_bare_command_of_a_runtime_is_looked_up_on_the_path(tmp_path):
    """A runtime may name a command instead of a path."""
    found = load({}, {}, write(tmp_path, "runtimes: {custom: sh}")).config.runtimes["custom"]

    assert found.is_file()
    assert found.is_absolute()


def test_every_option_names_a_field_of_config():
    """The table of options and the dataclass agree."""
    fields = set(Config.__dataclass_fields__) - {"resources", "resource_marks"}

    assert {option.name for option in OPTIONS} == fields


def test_resources_remember_their_places(tmp_path):
    """Whoever reads a resource knows line and column of each part; what an alias repeats is where it is written."""
    text = "port: 0\nhttps_port: 0\nqueues:\n  a: &d\n    DelaySeconds: 1\n  b: *d\ntopics:\n  - x\n  -\n    y: 1\n"

    marks = load({}, {}, write(tmp_path, text)).config.resource_marks

    assert {path: mark for path, mark in marks.items() if path and path[0] in {"queues", "topics"}} == {
        ("queues",): (3, 1),
        ("queues", "a"): (4, 3),
        ("queues", "a", "DelaySeconds"): (5, 5),
        ("queues", "b"): (6, 3),
        ("queues", "b", "DelaySeconds"): (5, 5),
        ("topics",): (7, 1),
        ("topics", "0"): (8, 5),
        ("topics", "1"): (10, 5),
        ("topics", "1", "y"): (10, 5),
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("region: x\nport:   many", "localyun.yaml:2:1: port must be"),
        ("{auth: lenient, host: 0.0.0.0}", "localyun.yaml:1:2: auth lenient"),
    ],
)
def test_error_names_the_column(tmp_path, text, place):
    """Behind the line, in the form that editors and CI systems parse."""
    with pytest.raises(ConfigError, match=f"^{place}"):
        load({}, {}, write(tmp_path, text))


def test_resource_named_twice_is_refused(tmp_path):
    """YAML would silently keep the last one."""
    with pytest.raises(ConfigError, match=r"^localyun.yaml:3:3: queues.a is given twice"):
        load({}, {}, write(tmp_path, "queues:\n  a: {x: 1}\n  a: {y: 2}\n"))
