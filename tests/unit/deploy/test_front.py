"""Where the records are kept, as the gateway sees it."""

import json
from pathlib import Path

import pytest

import emulator.deploy
from emulator.gateway.deployments import DeploymentError, Deployments, DeploymentsFront
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis, SystemClock
from emulator.kernel.identity import AccountId, Principal, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate
from emulator.wire.request import OperationRequest

RECORD = {"name": "shop", "file": "/shop/s.yaml", "outputs": {}, "resources": []}


@pytest.fixture
def call():
    """Send one call to a front with an empty store; returns the JSON of its answer."""
    database = Database(None)
    migrate(database, [Schema("deploy", Path(emulator.deploy.__file__).parent / "schema")])
    tenant = Tenant(AccountId("1"), Region("cn-hangzhou"))
    front = DeploymentsFront(Deployments(database, tenant, SystemClock()), CountingIds())

    def send(method, path="", content=None, *, temporary=False):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        context = OperationRequest(Request(method, f"/_localyun/deployments{path}", Headers([]), body), Millis(0))
        context.principal = Principal(AccountId("1"), "key", "acs:ram::1:root", temporary=temporary)
        assert not front.allows_anonymous(context)
        return json.loads(front.handle(context).body)

    yield send
    database.close()


def test_record_is_kept_listed_and_forgotten(call):
    """What is put is what is got, under a name with any characters."""
    call("PUT", "/my%20shop%2F1", RECORD)

    assert call("GET", "/my%20shop%2F1") == RECORD
    assert call("GET") == {"deployments": [RECORD]}
    call("DELETE", "/my%20shop%2F1")
    assert call("GET") == {"deployments": []}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_unknown_name_is_told(call, method):
    """There is nothing to show or to forget."""
    with pytest.raises(DeploymentError, match="NotFound"):
        call(method, "/shop")


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'{"resources": 1}', b"[" * 10_000])
def test_what_is_no_record_is_refused(call, body):
    """Only the record of a deployment is kept."""
    with pytest.raises(DeploymentError, match="InvalidArgument"):
        call("PUT", "/shop", body)


@pytest.mark.parametrize(("method", "path"), [("PUT", ""), ("POST", "/shop"), ("PUT", "/" + "x" * 300)])
def test_calls_that_make_no_sense_are_refused(call, method, path):
    """A record needs a name that can be kept."""
    with pytest.raises(DeploymentError, match="InvalidArgument"):
        call(method, path, RECORD)


def test_temporary_keys_keep_no_records(call):
    """A function's credentials do not reach what deployments know."""
    with pytest.raises(DeploymentError, match="Forbidden"):
        call("GET", temporary=True)
