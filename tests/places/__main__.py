"""Do the main jobs in each place a person may put the program: ``python3 dev.py places [--quick] [--only TEXT]``.

Prints a table of places and jobs, and below it what failed and what was left out, with the reason. The exit code is 1
when anything has failed. What is made is removed in the end.
"""

import argparse
import concurrent.futures
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from emulator.kernel.frozen import frozen
from tests.places.jobs import JOBS
from tests.places.places import PLACES, Place, pythons
from tests.places.running import Account, Outcome, Workshop

USER = "localyun-places"
HOMELESS = 54321
"""A user id that no one has."""

MARKS = {"ok": "ok", "failed": "FAILED", "left out": "-"}


@frozen
class Row:
    """What came of one place; ``reason`` is why nothing was done in it."""

    place: Place
    outcomes: tuple[Outcome, ...] = ()
    reason: str = ""


def main(arguments: list[str]) -> int:
    """Go through the places, two at a time, and print the table."""
    parser = argparse.ArgumentParser(prog="dev.py places", description="Do the main jobs in every kind of place.")
    parser.add_argument("--quick", action="store_true", help="the half that takes under two minutes")
    parser.add_argument("--only", default="", metavar="TEXT", help="places whose name has TEXT in it")
    given = parser.parse_args(arguments)
    os.umask(0o022)  # other users go through the folders made here; a place has an umask of its own
    places = [place for place in (*PLACES, *pythons()) if given.only in place.name and (place.quick or not given.quick)]
    with tempfile.TemporaryDirectory(prefix="localyun-places-") as folder, ordinary_user() as user:
        Path(folder).chmod(0o755)
        workshop = Workshop(Path(folder), {"own": None, "ordinary": user, "homeless": Account(HOMELESS, HOMELESS)})
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(lambda place: row_of(workshop, place), places))
    print(table(rows))
    failures = [(row, each) for row in rows for each in row.outcomes if each.outcome == "failed"]
    for row, each in failures:
        print(f"\n{row.place.name}, {each.job}: {each.text}")
    failed = sum(any(each.outcome == "failed" for each in row.outcomes) for row in rows)
    print(f"\n{len(rows)} places, {failed} with failures, {sum(bool(row.reason) for row in rows)} left out")
    return int(bool(failures) or all(row.reason for row in rows))


def row_of(workshop: Workshop, place: Place) -> Row:
    """Make a place, do the jobs in it and remove it."""
    reason = place.missing or workshop.missing(place)
    row = Row(place=place, reason=reason) if reason else Row(place=place, outcomes=tuple(workshop.visit(place)))
    marks = " ".join(f"{each.job} {MARKS[each.outcome]}" for each in row.outcomes)
    print(f"{place.name}: {marks or reason}", file=sys.stderr, flush=True)
    return row


@contextlib.contextmanager
def ordinary_user() -> Iterator[Account | None]:
    """Return a new user who is removed in the end; None where none can be made."""
    tool = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if tool is None or os.geteuid() != 0:
        yield None
        return
    import pwd

    name = f"{USER}-{os.getpid()}"[:31]
    done = subprocess.run([tool, "--no-create-home", "--user-group", name], check=False, capture_output=True)
    if done.returncode:
        yield None
        return
    try:
        entry = pwd.getpwnam(name)
        yield Account(entry.pw_uid, entry.pw_gid)
    finally:
        subprocess.run([str(Path(tool).with_name("userdel")), name], check=False, capture_output=True)


def table(rows: list[Row]) -> str:
    """Return the table of places and jobs, and why what is left out is."""
    width = max((len(row.place.name) for row in rows), default=0)
    lines = [f"{'place':{width}}  " + "  ".join(f"{job:8}" for job in JOBS)]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        marks = {each.job: MARKS[each.outcome] for each in row.outcomes}
        lines.append(f"{row.place.name:{width}}  " + "  ".join(f"{marks.get(job, '-'):8}" for job in JOBS))
        if row.reason:
            reasons.setdefault(row.reason, []).append(row.place.name)
        for each in row.outcomes:
            if each.outcome == "left out":
                reasons.setdefault(each.text, []).append(f"{row.place.name}, {each.job}")
    lines += [f"-: {reason} ({'; '.join(names)})" for reason, names in reasons.items()]
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
