"""The figures of the suites in the documentation are those of their last whole runs."""

import json
from datetime import date

from tests.suites import figures
from tests.suites.makers import SUITES
from tests.suites.outcomes import Case


def test_a_recorded_run_is_a_row(tmp_path, monkeypatch):
    """With date, commit, what passed of all its cases, and the reasons and numbers of the others; other rows stay."""
    monkeypatch.setattr(figures, "FILE", tmp_path / "figures.json")
    monkeypatch.setattr(figures, "commit", lambda: "0123abcd")
    figures.FILE.write_text(json.dumps({"fc-go": {"date": "2026-11-01", "passed": 3}}))

    figures.record("mns-php", [Case("a", "passed"), Case("b", "passed"), Case("c", "cannot"), Case("d", "skipped")])
    rows = figures.markdown().splitlines()[2:]

    assert rows[0] == "| aliyun/fc-go-sdk 3a1b2ed | `fc-go` | 2026-11-01 | 3 of 3 |  |"
    assert rows[1].startswith("| aliyun/aliyun-mns-php-sdk 962ead2 | `mns-php` | 20")
    assert ", 0123abcd | 2 of 4 | uses a receipt handle from before ChangeMessageVisibility" in rows[1]
    assert rows[1].endswith(" (2), skipped (1) |")


def test_every_suite_has_been_run():
    """Each has its row, of a day that there was, and no case of it failed."""
    found = json.loads(figures.FILE.read_text(encoding="utf-8"))

    assert set(found) == set(SUITES)
    assert all(date.fromisoformat(each["date"]) and "FAILED" not in each for each in found.values())
