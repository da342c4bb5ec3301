"""The matrix of clients and operations: which request counts for whom, and the page agrees with its cases."""

import json

import pytest

from tests.conformance import contributed
from tests.conformance.clients import client_of
from tests.conformance.page import CASES, PAGE, gathered, rendered
from tests.conformance.served import VARIABLE


@pytest.mark.parametrize(
    ("service", "agent", "client"),
    [
        ("mns", "aliyun-sdk-python/1.3.0(Linux/6.18/x86_64;3.11.7)", "Python aliyun-mns-sdk"),
        ("oss", "aliyun-sdk-python/2.19.1(Linux/6.18/x86_64;3.11.7)", "Python oss2"),
        ("fc", "aliyun-fc-sdk-v2.5.2.python-3.11.7.Linux-6.18-x86_64", "Python aliyun-fc2"),
        ("fnf", "AlibabaCloud (Linux 6.18;x86_64) Python/3.11.7 Core/2.16.1", "Python aliyun-python-sdk-*"),
        ("fnf", "AlibabaCloud (Linux; x86_64) Python/3.11.7 Core/0.4.3 TeaDSL/2", "Python alibabacloud_*"),
        ("fc", "AlibabaCloud (linux; x64) Node.js/v20.20.2 Core/1.0.1 TeaDSL/2", "Node.js @alicloud/* (models)"),
        ("fnf", "AlibabaCloud (linux; amd64) Golang/1.26.8 Core/1.63.22", "Go alibaba-cloud-sdk-go"),
        ("fc", "AlibabaCloud (Linux; amd64) Java/17 tea-util/0.2.21 TeaDSL/1", "Java com.aliyun:* (models)"),
        ("fc", "curl/8.5", ""),
    ],
)
def test_client_is_told_by_what_it_says_of_itself(service, agent, client):
    """As recorded from the clients."""
    assert client_of(service, agent) == client


def test_rows_of_workers_become_cases_in_cells(tmp_path):
    """A case counts once for each operation and client; what was known before stays."""
    rows = [["fc", "GetService", "c", "tests/a.py::one"]] * 2 + [["other", "X", "c", "tests/a.py::one"]]
    (tmp_path / "gw0.rows").write_text("".join(json.dumps(row) + "\n" for row in rows))

    found = gathered(tmp_path, {"fc": {"GetService": {"c": ["tests/b.py::two"]}}})

    assert found == {"fc": {"GetService": {"c": ["tests/a.py::one", "tests/b.py::two"]}}}


@pytest.mark.starts_programs
def test_an_emulator_that_is_asked_to_notes_who_called_what(new_emulator, monkeypatch, tmp_path):
    """The matrix is made of these lines; requests without an operation have one too."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "main.requests"))
    running = new_emulator(None, "--ephemeral").start()

    running.fnf().send("ListFlows")
    running.stop()

    noted = [json.loads(line) for line in (tmp_path / "main.requests").read_text(encoding="utf-8").splitlines()]
    rows = {(each["service"], each["operation"], client_of(each["service"], each["agent"])) for each in noted}
    assert ("fnf", "ListFlows", "Python aliyun-python-sdk-*") in rows


def test_page_is_what_the_cases_say():
    """Neither is changed by hand."""
    kept = json.loads(CASES.read_text(encoding="utf-8"))

    assert PAGE.read_text(encoding="utf-8") == rendered(kept["cases"], kept["facts"])
    assert {"fc", "mns", "fnf", "oss", "ram", "sts"} <= kept["cases"].keys()


@pytest.mark.parametrize("file", contributed.files(), ids=lambda file: file.stem)
def test_contributed_recordings_are_redacted(file):
    """Redacting one again changes nothing."""
    assert contributed.unredacted(file.read_text(encoding="utf-8")) == []


def test_a_name_in_a_contributed_recording_is_found():
    """Wherever somebody has put it back; and so is a request of another site."""
    text = contributed.files()[0].read_text(encoding="utf-8")

    assert contributed.unredacted(text.replace("name0001", "acme-orders")) != []
    assert contributed.unredacted(text.replace("0.mns.cn-hangzhou.aliyuncs.com", "acme.example")) != []


def test_the_index_of_recordings_says_where_each_is_from():
    """And names none that is not there; differences belong to a recording."""
    known = contributed.origins(contributed.INDEX.read_text(encoding="utf-8"))
    beside = {path.name.removesuffix(".differences.json") for path in contributed.FOLDER.glob("*.differences.json")}

    assert set(known) == {file.name for file in contributed.files()}
    assert beside <= {file.stem for file in contributed.files()}


def test_a_recording_is_described_in_a_line():
    """Requests by service, what is known to differ, where the answers are from."""
    line = contributed.described(contributed.FOLDER / "emulator-0.1.har")

    assert line.startswith("emulator-0.1.har: requests ")
    assert "known differences 0; from the emulator itself" in line
