"""The identity of an installation: generated once, private, overridden by the configuration."""

import json
import stat

import pytest

from emulator.config import Config
from emulator.kernel.ids import CountingIds, RandomIds
from emulator.keyfile import KeyFileDamaged, load, load_or_create


def test_first_start_generates_keys_and_later_starts_keep_them(tmp_path):
    """The keys stay the same for the life of the state folder."""
    config = Config(state=tmp_path)

    first = load_or_create(config, RandomIds())
    second = load_or_create(config, RandomIds())

    assert first == second == load(config)


def test_generated_keys_look_like_this_program_s_own(tmp_path):
    """Nobody can take a generated key for one of the cloud's."""
    keys = load_or_create(Config(state=tmp_path), RandomIds())

    assert keys.access_key_id.startswith("LYUN")
    assert len(keys.access_key_secret) >= 30
    assert len(keys.account_id) == 16
    assert keys.account_id.isdigit()
    assert keys.region == "cn-hangzhou"
    assert len(keys.admin_token) >= 32


def test_only_the_owner_can_read_the_file(tmp_path):
    """The file is made with mode 0600."""
    load_or_create(Config(state=tmp_path), RandomIds())

    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600


def test_given_values_win_and_are_not_written(tmp_path):
    """A key from the environment is used and leaves no trace on disk."""
    given = Config(
        state=tmp_path,
        access_key_id="givenkey",
        access_key_secret="givensecret",
        account_id="1111222233334444",
        region="eu-central-1",
    )

    keys = load_or_create(given, CountingIds())

    assert (keys.access_key_id, keys.access_key_secret) == ("givenkey", "givensecret")
    assert (keys.account_id, keys.region) == ("1111222233334444", "eu-central-1")
    text = (tmp_path / "keys.json").read_text()
    assert not any(value in text for value in ("givenkey", "givensecret", "1111222233334444", "eu-central-1"))


def test_absent_file_is_told_apart_from_a_damaged_one(tmp_path):
    """A client command can tell that nothing was started here yet."""
    assert load(Config(state=tmp_path)) is None
    assert load(Config(state=tmp_path / "never" / "made")) is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "it is not JSON"),
        (b"[]", "it is not a JSON object"),
        (b"\xff\xfe\x00", "it is not text"),
        (b"{}", "accessKeyId is missing"),
        (json.dumps({"accessKeyId": 5}).encode(), "accessKeyId is missing"),
    ],
)
def test_damaged_file_is_refused_with_its_name(tmp_path, content, problem):
    """A file that cannot be used is named and never overwritten."""
    path = tmp_path / "keys.json"
    path.write_bytes(content)

    with pytest.raises(KeyFileDamaged, match=problem) as caught:
        load_or_create(Config(state=tmp_path), RandomIds())

    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [("accessKeyId", "LTAI5tExample", "real cloud access key"), ("accountId", "12a", "1 to 32 digits")],
)
def test_edited_file_is_checked(tmp_path, field, value, problem):
    """What a person wrote into the file is checked like the configuration."""
    load_or_create(Config(state=tmp_path), RandomIds())
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))

    with pytest.raises(KeyFileDamaged, match=problem):
        load(Config(state=tmp_path))
