"""Publish a version, call it through an alias from a flow, without and with an instance that is kept ready."""

import json
import sys
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from function_client import function_client
from workflow_client import POLL_INTERVAL_S, _, command_line, main, say

FLOW = "fnf-demo-versions-and-aliases"
SERVICE = "fnf-demo"
FUNCTION = "provision"
ALIAS = "online"
READY_WITHIN_S = 60


def compare(session):
    """Run the flow twice; true when both executions got the function's answer."""
    flow = session.flow(FLOW, Path(__file__).with_name("flow.yml"))
    with function_client(session) as functions, published(functions, session.keeps), flow:
        cold = session.execute(FLOW, session.given.input)
        with instance_kept_ready(functions):
            warm = session.execute(FLOW, session.given.input)

    say(_("without a provisioned instance   {milliseconds:>5} ms", milliseconds=milliseconds(cold)))
    say(_("with a provisioned instance      {milliseconds:>5} ms", milliseconds=milliseconds(warm)))
    return all(
        each["Status"] == "Succeeded" and json.loads(each["Output"]) == {"success": True} for each in (cold, warm)
    )


@contextmanager
def published(functions, keep):
    """Publish the service and point the alias to the version, unless the alias is there; both go at the end, unless *keep*."""
    # A list, because the client logs an error when an alias it asks for by name is missing.
    aliases = functions.list_aliases(SERVICE, prefix=ALIAS).data["aliases"]
    if found := next((each for each in aliases if each["aliasName"] == ALIAS), None):
        say(_("alias {name} points to version {version} already", name=ALIAS, version=found["versionId"]))
        yield
        return
    version = functions.publish_version(SERVICE, description="from the tutorial").data["versionId"]
    try:
        functions.create_alias(SERVICE, ALIAS, version)
        try:
            names = {"version": version, "service": SERVICE, "alias": ALIAS}
            say(_("version {version} of {service} published, alias {alias} points to it", **names))
            yield
        finally:
            if not keep:
                functions.delete_alias(SERVICE, ALIAS)
    finally:
        if not keep:
            functions.delete_version(SERVICE, version)
            say(_("alias {name} and version {version} deleted", name=ALIAS, version=version))


@contextmanager
def instance_kept_ready(functions):
    """Have one instance of the function provisioned for the alias; none at the end.

    Raises: TimeoutError when it does not get ready.
    """
    functions.put_provision_config(SERVICE, ALIAS, FUNCTION, 1)
    try:
        deadline = time.monotonic() + READY_WITHIN_S
        while functions.get_provision_config(SERVICE, ALIAS, FUNCTION).data["current"] < 1:
            if time.monotonic() > deadline:
                raise TimeoutError(_("no instance was ready within {seconds} s", seconds=READY_WITHIN_S))
            time.sleep(POLL_INTERVAL_S)
        say(_("one instance is kept ready for {function}", function=f"{SERVICE}.{ALIAS}/{FUNCTION}"))
        yield
    finally:
        functions.put_provision_config(SERVICE, ALIAS, FUNCTION, 0)


def milliseconds(execution):
    """Return how long an execution took, by the times of its events."""
    first, last = (
        datetime.fromisoformat(execution["Events"][index]["Time"].replace("Z", "+00:00")) for index in (0, -1)
    )
    return round((last - first).total_seconds() * 1000)


if __name__ == "__main__":
    main(compare, command_line("Call a published version through an alias, cold and warm.", "{}"))
