"""Fixtures for tests against localyun: copy this file into a project's tests folder."""

import json
import subprocess

import pytest


@pytest.fixture(scope="session")
def localyun(tmp_path_factory):
    """One emulator for the whole run, on free ports, forgotten afterwards; yields what `localyun env` prints.

    A folder "functions" beside the tests would be served with `"--functions", "tests/functions"`.
    """
    state = ["--state", str(tmp_path_factory.mktemp("localyun"))]
    start = ["localyun", "start", "-d", "--ephemeral", "--port", "0", "--https-port", "0", *state]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
    try:
        told = subprocess.run(["localyun", "env", "--json", *state], check=True, capture_output=True, text=True)
        yield json.loads(told.stdout)
    finally:
        subprocess.run(["localyun", "stop", *state], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def queue(localyun, request):
    """An empty queue, named after the test; gone when the test ends."""
    from mns.account import Account
    from mns.queue import QueueMeta

    account = Account(
        localyun["LOCALYUN_ENDPOINT"],
        localyun["ALIBABA_CLOUD_ACCESS_KEY_ID"],
        localyun["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
    )
    made = account.get_queue(request.node.name.replace("_", "-"))
    made.create(QueueMeta())
    yield made
    made.delete()
    account.mns_client.close_connection()
