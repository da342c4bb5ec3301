"""The same seed, input and schedule give the same bytes, every time."""

import threading
from contextlib import contextmanager

import pytest
import requests

from tests.exploration.conftest import RUNS


@contextmanager
def looking_on(localyun):
    """Ask the emulator again and again while the context lasts; yield the list of the answers' statuses."""
    done, statuses = threading.Event(), []

    def look():
        with requests.Session() as session:
            session.trust_env = False
            headers = {"X-Localyun-Token": localyun.token}
            while not done.wait(0.005):
                for page in ("health", "status", "schedule"):
                    answer = session.get(f"{localyun.endpoint}/_localyun/{page}", headers=headers, timeout=20)
                    statuses.append(answer.status_code)

    looker = threading.Thread(target=look)
    looker.start()
    try:
        yield statuses
    finally:
        done.set()
        looker.join()


@contextmanager
def writing(file):
    """Write a file again and again while the context lasts."""
    done = threading.Event()

    def write():
        while not done.wait(0.003):
            file.write_text("noted", encoding="utf-8")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()


def difference(one, other):
    """Return where two texts differ, for the message of a failing test."""
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    return f"...{one[max(0, at - 200) : at + 80]}\n...{other[max(0, at - 200) : at + 80]}"


@pytest.fixture(scope="module")
def undisturbed(application):
    """What can be seen of a run while nobody looks on."""
    return application.run({})


@pytest.mark.timeout(1200)
def test_history_is_the_same_every_time(application, undisturbed):
    """Ids, times, traces, bodies and headers of pushes, events of functions: one history in all runs."""
    first, view = undisturbed

    for _ in range(RUNS - 1):
        again, _ = application.run({})
        assert again == first, difference(first, again)
    assert len(view["steps"]) > 30


@pytest.mark.timeout(1200)
def test_who_looks_on_changes_nothing(application, undisturbed):
    """A health check, a page of the console, a command that lists: none of them draws from the seed."""
    first, _ = undisturbed

    with looking_on(application.localyun) as looks:
        again, _ = application.run({})

    assert len(looks) > 10
    assert set(looks) == {200}
    assert again == first, difference(first, again)


@pytest.mark.timeout(1200)
def test_who_looks_on_while_files_change_changes_nothing(application, undisturbed):
    """Requests then wait until the functions have been read anew; no effect goes ahead of a request because of it."""
    first, _ = undisturbed

    with writing(application.folder / "shop" / "notes.txt"), looking_on(application.localyun) as looks:
        for _ in range(2):  # each run meets some hundred writes and looks
            again, _ = application.run({})
            assert again == first, difference(first, again)

    assert set(looks) == {200}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(1, max(3, RUNS // 2)))
def test_random_schedule_can_be_replayed(application, seed):
    """What a random schedule has taken, given as choices, gives the same bytes."""
    random, view = application.run({"strategy": "random", "seed": seed})
    taken = {str(each["n"]): each["taken"] for each in view["choices"] if each["taken"]}

    again, _ = application.run({"choices": taken})

    assert again == random, difference(random, again)
    assert taken
