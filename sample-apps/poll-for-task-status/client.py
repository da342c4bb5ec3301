"""Create the flow of this folder, start an execution and show every event of its history as it happens.

The program talks to Serverless Workflow through an official SDK, either generation, and does not know whether the
service is the cloud or localyun: that is decided by the endpoint alone.

    --endpoint URL   or LOCALYUN_ENDPOINT                the service; left out: the cloud, in --region
    --region ID      or LOCALYUN_REGION, REGION          default cn-hangzhou
                        ALIBABA_CLOUD_ACCESS_KEY_ID      the key
                        ALIBABA_CLOUD_ACCESS_KEY_SECRET
                        LOCALYUN_ACCOUNT_ID, ACCOUNT_ID  the account's id, for the functions' resource names
    --role-arn ARN   or ROLE_ARN                         the role that may call the functions; the cloud needs one
"""

import argparse
import json
import os
import sys
import time
from datetime import datetime
from pathlib import Path

FLOW = "fnf-demo-poll-for-task-status"
FINAL = {"Succeeded", "Failed", "Stopped", "TimedOut"}
POLL_INTERVAL_S = 0.3


class ServiceRefused(Exception):
    """The service answered with an error; ``code`` is its name."""

    def __init__(self, code, message):
        self.code = code
        super().__init__(f"{code}: {message}")


class CoreClient:
    """The classic SDK: aliyun-python-sdk-core with aliyun-python-sdk-fnf."""

    def __init__(self, key_id, secret, region, endpoint):
        from aliyunsdkcore.client import AcsClient

        self._client = AcsClient(key_id, secret, region)
        self._scheme, _, self._host = endpoint.partition("://")

    def call(self, action, **parameters):
        """Call *action* and return its answer as a dictionary.

        Raises: ServiceRefused.
        """
        from importlib import import_module

        from aliyunsdkcore.acs_exception.exceptions import ClientException, ServerException

        module = import_module(f"aliyunsdkfnf.request.v20190315.{action}Request")
        request = getattr(module, f"{action}Request")()
        for name, value in parameters.items():
            getattr(request, f"set_{name}")(value)
        request.set_accept_format("json")
        request.set_protocol_type(self._scheme or "https")
        if self._host:
            request.set_endpoint(self._host)
        try:
            return json.loads(self._client.do_action_with_exception(request))
        except (ServerException, ClientException) as error:
            raise ServiceRefused(error.get_error_code(), error.get_error_msg()) from error


class TeaClient:
    """The newer SDK: alibabacloud_fnf20190315."""

    def __init__(self, key_id, secret, region, endpoint):
        from alibabacloud_fnf20190315.client import Client
        from alibabacloud_tea_openapi.models import Config

        scheme, _, host = endpoint.partition("://")
        config = Config(access_key_id=key_id, access_key_secret=secret, region_id=region, protocol=scheme or "https")
        if host:
            config.endpoint = host
        self._client = Client(config)

    def call(self, action, **parameters):
        """Call *action* and return its answer as a dictionary.

        Raises: ServiceRefused.
        """
        from alibabacloud_fnf20190315 import models
        from Tea.exceptions import TeaException

        request = getattr(models, f"{action}Request")().from_map(parameters)
        method = "".join("_" + letter.lower() if letter.isupper() else letter for letter in action).lstrip("_")
        try:
            return getattr(self._client, method)(request).body.to_map()
        except TeaException as error:
            raise ServiceRefused(error.code, error.message) from error


SDKS = {"core": CoreClient, "tea": TeaClient}


def create_or_update(client, definition, role_arn):
    """Store *definition* under the name `FLOW`, whether it was there before or not."""
    flow = {"Name": FLOW, "Definition": definition, "Description": "Poll for task status", "Type": "FDL"}
    if role_arn:
        flow["RoleArn"] = role_arn
    try:
        client.call("CreateFlow", **flow)
    except ServiceRefused as error:
        if error.code != "FlowAlreadyExists":
            raise
        client.call("UpdateFlow", **flow)
        return "updated"
    return "created"


def follow(client, execution):
    """Print each event of *execution* once, as it happens, and return the finished execution."""
    seen = 0
    started = None
    print(f"{'id':>4}  {'time':>8}  {'step':<17} {'event':<19} detail", flush=True)
    while True:
        # Asked before the history, so that a final status means that the history is complete.
        state = client.call("DescribeExecution", FlowName=FLOW, ExecutionName=execution)
        for event in history(client, execution):
            if event["EventId"] <= seen:
                continue
            seen = event["EventId"]
            moment = datetime.fromisoformat(event["Time"].replace("Z", "+00:00"))
            started = started or moment
            print(line(event, (moment - started).total_seconds()), flush=True)
        if state["Status"] in FINAL:
            return state
        time.sleep(POLL_INTERVAL_S)


def history(client, execution):
    """Yield the events recorded so far."""
    token = {}
    while True:
        page = client.call("GetExecutionHistory", FlowName=FLOW, ExecutionName=execution, Limit=500, **token)
        yield from page.get("Events") or []
        if not page.get("NextToken"):
            return
        token = {"NextToken": page["NextToken"]}


def line(event, offset_s):
    """Return one event as a line of text."""
    step = event.get("StepName") or "-"
    return f"{event['EventId']:>4}  {offset_s:>7.2f}s  {step:<17} {event['Type']:<19} {detail(event)}".rstrip()


def detail(event):
    """Return what matters most of an event's detail, short."""
    try:
        content = json.loads(event.get("EventDetail") or "{}")
    except ValueError:
        return ""
    for keys in (("error", "cause"), ("goto",), ("output",), ("duration",), ("input",)):
        parts = [f"{key}={shown(content[key])}" for key in keys if content.get(key) not in (None, "")]
        if parts:
            text = " ".join(parts)
            return text if len(text) <= 100 else text[:97] + "..."
    return ""


def shown(value):
    """Return *value* as it reads best: texts bare, the rest as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def read_arguments(arguments):
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Run the polling flow and show its history as it happens.")
    parser.add_argument("--sdk", choices=sorted(SDKS), default="core", help="which official SDK to use")
    parser.add_argument("--input", default='{"delay": 20}', help="input of the execution, JSON")
    parser.add_argument("--endpoint", default=os.environ.get("LOCALYUN_ENDPOINT", ""), help="URL of the service")
    parser.add_argument(
        "--region", default=os.environ.get("LOCALYUN_REGION") or os.environ.get("REGION") or "cn-hangzhou"
    )
    parser.add_argument("--role-arn", default=os.environ.get("ROLE_ARN", ""), help="role of the flow")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Run the sample; the exit code tells whether the execution succeeded."""
    given = read_arguments(arguments)
    account = os.environ.get("LOCALYUN_ACCOUNT_ID") or os.environ.get("ACCOUNT_ID")
    key_id = os.environ.get("ALIBABA_CLOUD_ACCESS_KEY_ID")
    secret = os.environ.get("ALIBABA_CLOUD_ACCESS_KEY_SECRET")
    if not (account and key_id and secret):
        print(
            "set ALIBABA_CLOUD_ACCESS_KEY_ID, ALIBABA_CLOUD_ACCESS_KEY_SECRET and ACCOUNT_ID; "
            "for localyun: eval \"$(localyun env)\"",
            file=sys.stderr,
        )
        return 2
    text = Path(__file__).with_name("flow.yml").read_text(encoding="utf-8")
    definition = text.replace("{accountID}", account).replace("cn-hangzhou", given.region)
    try:
        client = SDKS[given.sdk](key_id, secret, given.region, given.endpoint)
        print(f"flow {FLOW} {create_or_update(client, definition, given.role_arn)}")
        started = client.call("StartExecution", FlowName=FLOW, Input=given.input)
        print(f"execution {started['Name']} started with {given.input}", flush=True)
        finished = follow(client, started["Name"])
    except ImportError as error:
        print(f"the SDK is not installed ({error}); see README.md of this folder", file=sys.stderr)
        return 1
    except ServiceRefused as error:
        print(f"the service refused: {error}", file=sys.stderr)
        return 1
    print(f"execution {finished['Status']}: {finished.get('Output') or '{}'}")
    return 0 if finished["Status"] == "Succeeded" else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
