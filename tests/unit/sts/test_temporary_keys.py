"""Temporary keys: issued, found, reused, expired, surviving a restart."""

import re

import pytest

from emulator.kernel.clock import HOUR, MINUTE, SECOND, VirtualClock
from emulator.kernel.identity import AccountId
from emulator.kernel.ids import RandomIds
from emulator.services.sts import service
from emulator.services.sts.service import SCHEMA, StsError, TemporaryKeys
from emulator.storage.database import Database
from emulator.storage.migration import migrate

ACCOUNT = AccountId("1234567890123456")


class Bench:
    """A key store over a database, on a clock that is moved by hand."""

    def __init__(self, path=None):
        self.clock = VirtualClock()
        self.database = Database(path)
        migrate(self.database, [SCHEMA])
        self.keys = self.store()

    def store(self):
        return TemporaryKeys(self.database, RandomIds())

    def issue(self, duration_s=900, session="session"):
        return self.keys.issue(ACCOUNT, "role", session, duration_s, self.clock.now())

    def rows(self):
        return self.database.read("SELECT count(*) FROM sts_keys").fetchone()[0]


@pytest.fixture
def bench():
    bench = Bench()
    yield bench
    bench.database.close()


def test_issued_key_looks_like_the_real_ones(bench):
    """Clients look at the prefix of the id and carry tokens of some hundred characters."""
    credentials = bench.issue()

    assert re.fullmatch(r"STS\.[A-Za-z0-9]{25}", credentials.access_key_id)
    assert re.fullmatch(r"[A-Za-z0-9]{44}", credentials.access_key_secret)
    assert re.fullmatch(r"CAIS[A-Za-z0-9+/=]{300,600}", credentials.security_token)
    assert credentials.expiration == bench.clock.now() + 900 * SECOND


def test_issued_key_is_found_with_its_session(bench):
    """What was issued is found again with secret, token, expiry and the identity it stands for."""
    credentials = bench.issue()

    key = bench.keys.find(credentials.access_key_id)

    assert (key.secret, key.token) == (credentials.access_key_secret, credentials.security_token)
    assert key.expires_at == credentials.expiration
    assert (key.account, key.arn) == (ACCOUNT, f"acs:ram::{ACCOUNT}:assumed-role/role/session")


@pytest.mark.parametrize("key_id", ["STS.unknown", "own-key", ""])
def test_key_that_was_not_issued_is_not_found(bench, key_id):
    """Other ids are not known here."""
    assert bench.keys.find(key_id) is None


def test_keys_survive_a_restart(tmp_path):
    """A key issued before a restart signs after it."""
    before = Bench(tmp_path / "state.db")
    credentials = before.issue()
    before.database.close()

    after = Bench(tmp_path / "state.db")
    key = after.keys.find(credentials.access_key_id)
    after.database.close()

    assert key.secret == credentials.access_key_secret


def test_expired_key_is_known_however_long_ago(bench):
    """Its user learns that it has expired, and not that there never was such a key; over a restart too."""
    credentials = bench.issue(900)
    bench.clock.move_to(bench.clock.now() + 10 * 365 * 24 * HOUR)

    known = [bench.keys.find(credentials.access_key_id), bench.store().find(credentials.access_key_id)]

    assert [key.expires_at for key in known] == [credentials.expiration] * 2


def test_keys_that_expired_first_make_room(bench, monkeypatch):
    """The store is bounded, and no key that is alive goes."""
    monkeypatch.setattr(service, "MAX_KEYS", 4)
    monkeypatch.setattr(service, "FORGOTTEN_AT_ONCE", 2)
    long, *short = [bench.issue(seconds) for seconds in (43_200, 900, 960, 1020)]
    bench.clock.move_to(bench.clock.now() + HOUR)

    new = bench.issue()

    known = [bench.keys.find(each.access_key_id) is not None for each in (long, *short, new)]
    assert known == [True, False, False, True, True]
    assert bench.rows() == 3


def test_new_keys_are_refused_when_too_many_are_alive(bench, monkeypatch):
    """Once some have expired there is room again."""
    monkeypatch.setattr(service, "MAX_KEYS", 3)
    for _ in range(3):
        bench.issue()

    with pytest.raises(StsError, match=r"^Throttling\.User:"):
        bench.issue()
    bench.clock.move_to(bench.clock.now() + 900 * SECOND)

    assert bench.issue().access_key_id


def test_memory_of_keys_is_bounded_and_misses_are_read_from_the_file(bench, monkeypatch):
    """Only so many keys are kept in memory; the others are found all the same."""
    monkeypatch.setattr(service, "CACHED_KEYS", 2)
    issued = [bench.issue() for _ in range(5)]

    found = [bench.keys.find(credentials.access_key_id) for credentials in issued]

    assert [key.secret for key in found] == [credentials.access_key_secret for credentials in issued]
    assert len(bench.keys._keys) == 2


def test_session_credentials_are_reused(bench):
    """Thousands of calls of one function share a key."""
    now = bench.clock.now()
    issued = {bench.keys.for_role(ACCOUNT, "fc-role", "fn", now).access_key_id for _ in range(1_000)}

    assert len(issued) == 1
    assert bench.rows() == 1


def test_session_credentials_differ_by_role_session_and_account(bench):
    """Whoever assumes another role, or for another session, gets other credentials."""
    now = bench.clock.now()
    names = [(ACCOUNT, "r", "s"), (ACCOUNT, "r2", "s"), (ACCOUNT, "r", "s2"), (AccountId("2"), "r", "s")]

    assert len({bench.keys.for_role(*name, now).access_key_id for name in names}) == 4


def test_session_credentials_are_renewed_half_way(bench):
    """The caller always gets credentials with at least half of their time left."""
    first = bench.keys.for_role(ACCOUNT, "r", "s", bench.clock.now(), duration_s=3600)
    bench.clock.move_to(bench.clock.now() + 30 * MINUTE)
    same = bench.keys.for_role(ACCOUNT, "r", "s", bench.clock.now(), duration_s=3600)
    bench.clock.move_to(bench.clock.now() + 1)

    other = bench.keys.for_role(ACCOUNT, "r", "s", bench.clock.now(), duration_s=3600)

    assert same == first
    assert other.access_key_id != first.access_key_id


def test_session_credentials_last_as_long_as_the_caller_needs(bench):
    """A function that may run for long is not handed credentials that end before."""
    first = bench.keys.for_role(ACCOUNT, "r", "s", bench.clock.now(), duration_s=3600, good_for_s=60)
    bench.clock.move_to(bench.clock.now() + 30 * MINUTE)

    short = bench.keys.for_role(ACCOUNT, "r", "s", bench.clock.now(), duration_s=3600, good_for_s=60)
    long = bench.keys.for_role(ACCOUNT, "r", "s", bench.clock.now(), duration_s=3600, good_for_s=3000)

    assert short == first
    assert long.expiration - bench.clock.now() >= 3000 * SECOND


def test_memory_of_sessions_is_bounded(bench, monkeypatch):
    """The session unused for longest is forgotten first."""
    monkeypatch.setattr(service, "CACHED_SESSIONS", 2)
    now = bench.clock.now()
    first = bench.keys.for_role(ACCOUNT, "r", "a", now)
    bench.keys.for_role(ACCOUNT, "r", "b", now)
    bench.keys.for_role(ACCOUNT, "r", "a", now)

    bench.keys.for_role(ACCOUNT, "r", "c", now)

    assert bench.keys.for_role(ACCOUNT, "r", "a", now) == first


def test_functions_get_a_day_and_a_half(bench):
    """The credentials in a function's context last 36 hours."""
    credentials = bench.keys.for_role(ACCOUNT, "r", "s", bench.clock.now())

    assert credentials.expiration - bench.clock.now() == service.FUNCTION_DURATION_S * SECOND == 36 * HOUR


def test_lost_transaction_takes_its_keys_along(bench):
    """When a commit fails, keys issued in it are not believed in any more."""
    kept = bench.issue()
    bench.database.commit()
    bench.database.write("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
    bench.database.write("CREATE TABLE child (id REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
    bench.database.commit()
    lost = bench.issue()
    bench.database.write("INSERT INTO child VALUES (1)")  # the deferred check fails at the commit

    bench.database.commit()

    assert bench.keys.find(lost.access_key_id) is None
    assert bench.keys.find(kept.access_key_id) is not None
    assert bench.rows() == 1
