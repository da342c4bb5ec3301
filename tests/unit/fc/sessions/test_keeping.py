"""The life of sessions against a clock that a test moves; instances are doubles."""

import gc
import json
import tracemalloc

import pytest

from emulator.kernel.identity import Tenant
from emulator.services.fc.model import LATEST, FunctionRef
from emulator.services.fc.runtime.seating import Seat
from emulator.services.fc.sessions import keeping
from emulator.services.fc.sessions.model import Status

HOUR_MS = 3_600_000


class Chairs:
    """The part of a pool that sessions see: seats are taken at once, and what leaves is remembered."""

    def __init__(self, inner):
        self.left: list[tuple[str, bool]] = []
        self.invoke, self.retire_family, self.end_all = self._invoke, inner.retire_family, inner.end_all
        self._inner = inner

    async def _invoke(self, image, invocation, seat=None):
        return await self._inner.invoke(image, invocation)

    async def settle(self, image, seat, invocation):
        pass

    def vacate(self, seat: Seat, *, now: bool = False) -> None:
        self.left.append((seat.session, now))


@pytest.fixture
async def kept(site, pack):
    """A site with the function ``f``, whose sessions are idle for 60 s at most, and its sessions."""
    chairs = Chairs(site.instances)
    site.fc.sessions._instances = site.fc.invoker._reception._instances = chairs
    config = {"affinityHeaderFieldName": "session-id", "sessionIdleTimeoutInSeconds": 60}
    body = {
        "functionName": "f", "runtime": "python3.12", "handler": "index.handler", "code": pack(),
        "sessionAffinity": "HEADER_FIELD", "sessionAffinityConfig": json.dumps(config),
    }  # fmt: skip
    made = await site.v3("POST", "/functions", body)
    assert made.status == 200, made.body
    site.chairs = chairs
    return site


def lane(site):
    return FunctionRef(Tenant(*site.tenant), "", "f", LATEST)


def begin(site, session_id, given=None):
    target = site.fc.resolver.target(site.tenant, "", "f", None, 1.0)
    return site.fc.sessions.begin(lane(site), session_id, target, given or {})


async def test_running_call_holds_the_idle_time_up(kept):
    """It counts from the end of the last of two calls that overlap."""
    sessions, session = kept.fc.sessions, begin(kept, "a")
    leaves = [sessions.enter(session), sessions.enter(session)]

    await kept.after(HOUR_MS)
    leaves[0]()
    await kept.after(HOUR_MS)
    assert sessions.live(lane(kept), "a").status is Status.ACTIVE
    leaves[1]()
    await kept.after(59_000)
    assert sessions.store.live(lane(kept), "a") is not None
    await kept.after(1_000)

    assert sessions.store.live(lane(kept), "a") is None


async def test_session_that_ends_in_a_call_keeps_its_seat_until_the_call_has_ended(kept):
    """The time to live is over at its moment all the same."""
    sessions, session = kept.fc.sessions, begin(kept, "a")
    sessions.seat(session)
    leave = sessions.enter(session)

    await kept.after(6 * HOUR_MS)

    assert sessions.store.get(session.seq).status is Status.EXPIRED
    assert kept.chairs.left == []
    leave()
    assert kept.chairs.left == [("a", False)]


async def test_a_thousand_sessions_are_rows_and_no_more(kept):
    """Nothing is held of sessions that have no instance, one timer serves all, and none stays after three days."""
    sessions = kept.fc.sessions
    timers = len(kept.timers)
    for number in range(1000):
        session = begin(kept, f"s{number}")
        sessions.seat(session)
        sessions.enter(session)()
    assert len(kept.timers) <= timers + 1

    await kept.after(61_000)

    assert sessions.store.numbers() == {"Active": 0, "Paused": 0, "Expired": 1000}
    assert (len(sessions._seats), len(sessions._running)) == (0, 0)
    assert len(kept.chairs.left) == 1000
    await kept.after(3 * 24 * HOUR_MS)
    assert sessions.store.numbers()["Expired"] == 0


async def test_a_live_session_holds_a_seat_in_memory_and_its_row_the_rest(kept):
    """A seat is some hundred bytes; after a restart there is not even that, until the next call."""
    sessions = kept.fc.sessions

    def begun(count):
        for number in range(count):
            session = begin(kept, f"s{count}-{number}")
            sessions.seat(session)
            sessions.enter(session)()

    begun(10)  # what is made once
    gc.collect()
    tracemalloc.start()
    try:
        begun(1000)
        gc.collect()
        each = tracemalloc.get_traced_memory()[0] / 1000
    finally:
        tracemalloc.stop()
    sessions.close()
    await sessions.start()

    assert each < 500, f"{each:.0f} bytes for each session"
    assert sessions.store.numbers()["Active"] == 1010
    assert (len(sessions._seats), len(sessions._running)) == (0, 0)


async def test_restart_takes_running_calls_for_ended(kept):
    """The idle time goes on from where the call began; sessions of streams have ended with them."""
    sessions, session = kept.fc.sessions, begin(kept, "a")
    sessions.enter(session)
    stream = sessions.store.put(
        type(session)(**{name: getattr(session, name) for name in ("lane", "version", "ttl_s", "idle_s", "used_at",
                                                                   "created_at", "modified_at")},
                      session_id="stream", kind="MCP_SSE", due_at=None)
    )  # fmt: skip

    sessions.close()
    await sessions.start()

    assert sessions.store.get(stream.seq) is None
    await kept.after(60_000)
    assert sessions.store.live(lane(kept), "a") is None


async def test_what_ends_after_all_sessions_were_closed_is_no_call_of_another_that_has_its_number(kept):
    """An imported checkpoint numbers its sessions itself: the one of that number works on."""
    sessions, session = kept.fc.sessions, begin(kept, "a")
    leave = sessions.enter(session)
    sessions.close()
    await sessions.start()
    other_leave = sessions.enter(session)  # as good as another one: they are told apart by their number alone

    assert leave() is False
    await kept.after(HOUR_MS)
    assert sessions.live(lane(kept), "a").status is Status.ACTIVE
    assert other_leave() is True


async def test_clock_set_back_ends_what_was_due(kept):
    """A session does not live on until the old time has come again."""
    sessions = kept.fc.sessions
    begin(kept, "a")
    before = kept.clock.now() + HOUR_MS

    sessions._clock_set_back(before)
    await kept.after(0)

    assert sessions.store.live(lane(kept), "a") is None


async def test_sessions_that_end_at_once_end_in_portions(kept, monkeypatch):
    """Each has a timer of its own, so that the loop serves others in between; all have ended in the end."""
    monkeypatch.setattr(keeping, "AT_ONCE", 3)
    sessions = kept.fc.sessions
    for number in range(7):
        begin(kept, f"s{number}")
    ended = []
    look, end = sessions._look, sessions._end
    monkeypatch.setattr(sessions, "_look", lambda: (ended.append(0), look())[1])
    monkeypatch.setattr(sessions, "_end", lambda *given: (ended.append(ended.pop() + 1), end(*given))[1])
    sessions._armed = None
    sessions._arm()

    await kept.after(61_000)

    assert [number for number in ended if number] == [3, 3, 1]
    assert sessions.store.numbers()["Active"] == 0


def pausable(site):
    """Let every session be one that can be paused: a container is not started here."""
    site.fc.sessions._is_pausable = lambda session: True


async def test_idle_session_that_pauses_by_itself_is_kept_until_its_time_to_live_is_over(kept):
    """Its instance is let go; one that does not pause ends at the same moment."""
    pausable(kept)
    sessions = kept.fc.sessions
    for name, given in (("sleeper", {"enableAutoPause": True}), ("other", {})):
        sessions.seat(begin(kept, name, given))

    await kept.after(60_000)

    assert sessions.live(lane(kept), "sleeper").status is Status.PAUSED
    assert sessions.store.live(lane(kept), "other") is None
    assert sorted(kept.chairs.left) == [("other", False), ("sleeper", False)]
    await kept.after(6 * HOUR_MS)
    assert sessions.store.live(lane(kept), "sleeper") is None


@pytest.mark.parametrize("resumes", [True, False])
async def test_call_of_a_paused_session_resumes_it_where_it_may(kept, resumes):
    """Its time to live has gone on; without that flag the call is refused and it stays paused."""
    pausable(kept)
    sessions = kept.fc.sessions
    session = begin(kept, "sleeper", {"enableAutoResume": resumes})
    sessions.seat(session)
    paused = sessions.pause(session)
    await kept.after(HOUR_MS)

    answer = await kept.v3("POST", "/functions/f/invocations", b"", session_id="sleeper")

    kept_on = sessions.live(lane(kept), "sleeper")
    assert paused.status is Status.PAUSED
    assert kept.chairs.left == [("sleeper", True)]
    assert kept_on.created_at == session.created_at
    if resumes:
        assert (answer.status, kept_on.status) == (200, Status.ACTIVE)
        assert kept_on.due_at == kept.clock.now() + 60_000
    else:
        assert (answer.status, kept_on.status) == (409, Status.PAUSED)
        assert answer.body["Code"] == "SessionNotActive"


async def test_what_is_left_of_a_session_that_is_gone_touches_no_other(kept):
    """Its call goes on after the function was deleted and made again; a new session is no business of its end."""
    sessions = kept.fc.sessions
    gone = begin(kept, "gone")
    leave = sessions.enter(gone)
    sessions.end_of([gone])
    new = begin(kept, "new")
    seat = sessions.seat(new)
    sessions.enter(new)()

    leave()
    sessions.end_of([gone])

    assert sessions.live(lane(kept), "new").seq == new.seq != gone.seq
    assert sessions.seat(new) is seat
    await kept.after(60_000)
    assert kept.chairs.left == [("new", False)]


@pytest.mark.parametrize("end", ["deleted", "expired"])
async def test_session_that_ends_while_it_is_resumed_is_not_there_again(kept, end):
    """Its instance is let go, and who resumes it is told so."""
    pausable(kept)
    sessions, chairs = kept.fc.sessions, kept.chairs
    session = sessions.pause(begin(kept, "sleeper"))

    async def meanwhile(image, seat, invocation):
        if end == "deleted":
            sessions.delete(session)
        else:
            await kept.after(6 * HOUR_MS)

    chairs.settle = meanwhile
    answer = await kept.v3("PUT", "/functions/f/sessions/sleeper/resume")

    assert (answer.status, answer.body["Code"]) == (404, "SessionNotFound")
    assert sessions.store.live(lane(kept), "sleeper") is None
    assert [each for each, _ in chairs.left] == ["sleeper"]


async def test_every_row_can_be_read_again(kept):
    """A state of unknown origin is read through before it is used."""
    begin(kept, "a")

    kept.fc.session_store.read_through()

    assert kept.fc.session_store.numbers()["Active"] == 1
