"""A pytest plugin that notes which official client performed which operation in which passing test.

    pytest -p tests.conformance.plugin --conformance FOLDER

Each worker leaves a file of rows ``[service, operation, client, case]`` in the folder; `page` makes the matrix of them.
"""

import json
import os
from pathlib import Path

import pytest

from tests.conformance.clients import client_of
from tests.conformance.served import VARIABLE


def pytest_addoption(parser):
    """Add the option."""
    parser.addoption("--conformance", metavar="FOLDER", help="note which client performs which operation")


def pytest_configure(config):
    """Have the emulators of this worker note their requests."""
    folder = config.getoption("--conformance")
    if folder:
        worker = Path(folder).resolve() / os.environ.get("PYTEST_XDIST_WORKER", "main")
        os.environ[VARIABLE] = str(worker.with_suffix(".requests"))
        config.pluginmanager.register(Noting(worker), "conformance-noting")


class Noting:
    """Joins what emulators have noted with the tests that passed."""

    def __init__(self, worker):
        self._requests = worker.with_suffix(".requests")
        self._rows = worker.with_suffix(".rows")
        self._read = 0
        self._passed = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Add the rows of a test that has passed."""
        self._passed = True
        self._take()
        done = yield
        rows = {
            (each["service"], each["operation"], client_of(each["service"], each["agent"])) for each in self._take()
        }
        if self._passed:
            with self._rows.open("a", encoding="utf-8") as sink:
                sink.writelines(
                    json.dumps([*row, item.nodeid]) + "\n" for row in sorted(rows) if row[1] != "-" and row[2]
                )
        return done

    def pytest_runtest_logreport(self, report):
        """Remember whether the present test has failed or was left out."""
        self._passed = self._passed and report.passed

    def _take(self):
        """Return what has been noted since the last time."""
        if not self._requests.exists():
            return []
        with self._requests.open("rb") as source:
            source.seek(self._read)
            text = source.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        return [json.loads(line) for line in whole.splitlines()]
