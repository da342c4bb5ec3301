"""How the outcomes of the makers' suites are read, judged and shown."""

import json

from tests.suites.outcomes import Case, judged, read_go, read_junit, read_mocha, table


def test_reports_of_three_runners_are_read(tmp_path):
    """JUnit's XML, the lines of go test and mocha's JSON give the same cases."""
    (tmp_path / "r.xml").write_text(
        '<testsuite><testcase classname="a.b.C" name="good"/><testcase classname="a.b.C" name="bad">'
        '<failure message="1 != 2"/></testcase></testsuite>'
    )
    lines = [
        {"Action": "run", "Test": "C"}, {"Action": "run", "Test": "C/good"}, {"Action": "pass", "Test": "C/good"},
        {"Action": "run", "Test": "C/bad"}, {"Action": "output", "Test": "C/bad", "Output": "Error: 1 != 2\n"},
        {"Action": "fail", "Test": "C/bad"},
    ]  # fmt: skip
    good = {"fullTitle": "C good", "err": {}}
    bad = {"fullTitle": "C bad", "err": {"message": "1 != 2"}}
    (tmp_path / "r.json").write_text(json.dumps({"tests": [good, bad], "failures": [bad], "pending": []}))

    found = [
        read_junit([tmp_path / "r.xml"]),
        read_go("\n".join(map(json.dumps, lines)) + "\nnoise"),
        read_mocha(tmp_path / "r.json"),
    ]

    assert found[0] == [Case("C.good", "passed"), Case("C.bad", "FAILED", "1 != 2")]
    assert found[1] == [Case("C/good", "passed"), Case("C/bad", "FAILED", "Error: 1 != 2")]
    assert found[2] == [Case("C good", "passed"), Case("C bad", "FAILED", "1 != 2")]


def test_table_tells_what_cannot_pass_from_what_failed():
    """A reason is only taken for a case that has failed."""
    cases = judged([Case("a", "passed"), Case("b", "FAILED"), Case("c", "FAILED")], {"a": "?", "b": "needs a cloud"})

    assert table(cases).splitlines() == [
        "passed  a", "cannot  b  needs a cloud", "FAILED  c", "1 of 3 passed (1 passed, 1 failed, 1 cannot)"
    ]  # fmt: skip
