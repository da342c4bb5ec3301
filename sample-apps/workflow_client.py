"""What the clients of these applications share: the command line, the official SDKs and a history shown as it happens.

A client is a function that takes a `Session` and tells whether everything went as its README promises; `main` runs it.
The programs do not know whether the service is the cloud or localyun: that is decided by the endpoint alone.

    --endpoint URL   or LOCALYUN_ENDPOINT                the service; left out: the cloud, in --region
    --region ID      or LOCALYUN_REGION, REGION          default cn-hangzhou
                        ALIBABA_CLOUD_ACCESS_KEY_ID      the key (or AK_ID, AK_SECRET)
                        ALIBABA_CLOUD_ACCESS_KEY_SECRET
                        LOCALYUN_ACCOUNT_ID, ACCOUNT_ID  the account's id, for resource names
    --role-arn ARN   or ROLE_ARN                         the role of the flow; the cloud needs one
    --language fdl|statemachine                          which of the two languages the flow is written in
    --record FILE                                        keep the executions when their flow is deleted, a line each
    --events json                                        print events as JSON, for programs that show them
    --keep                                               leave everything that was made

What is printed is in the user's language (LANGUAGE, LC_ALL, LC_MESSAGES, LANG) where ``locale`` has a catalogue of it.
"""

import argparse
import gettext
import json
import logging
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path

LANGUAGES = {"fdl": "flow.yml", "statemachine": "statemachine.yml"}
"""The file of an application that has its flow, by language."""

CATALOGUE = gettext.translation("samples", Path(__file__).with_name("locale"), fallback=True)

FINAL = {"Succeeded", "Failed", "Stopped", "TimedOut"}
POLL_INTERVAL_S = 0.3
WIDTH = 110


class ServiceRefused(Exception):
    """The service answered with an error; ``code`` is its name."""

    def __init__(self, code, message):
        self.code = code
        super().__init__(f"{code}: {message}")


class CoreClient:
    """The classic SDK: aliyun-python-sdk-core with aliyun-python-sdk-fnf."""

    def __init__(self, key_id, secret, region, endpoint):
        from aliyunsdkcore.client import AcsClient

        logger = logging.getLogger("aliyunsdkcore")
        logger.addHandler(logging.NullHandler())
        logger.propagate = False  # errors are raised, and need no line each; the SDK of functions sets up the root logger
        self._client = AcsClient(key_id, secret, region)
        self._scheme, _, self._host = endpoint.partition("://")

    def call(self, action, **parameters):
        """Call *action* and return its answer as a dictionary.

        Raises: ServiceRefused.
        """
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


class Session:
    """Who calls which service: ``client`` for workflows, and what clients of other services need."""

    def __init__(self, given, account, key_id, secret):
        self.given = given
        self.account = account
        self.key_id = key_id
        self.secret = secret
        self.region = given.region
        self.endpoint = given.endpoint
        self.keeps = given.keep
        self.call = SDKS[given.sdk](key_id, secret, given.region, given.endpoint).call

    def definition(self, path, **names):
        """Return the text of the flow at *path* with this account, the region and *names* filled in."""
        text = path.read_text(encoding="utf-8").replace("cn-hangzhou", self.region)
        for name, value in {"accountID": self.account, **names}.items():
            text = text.replace("{" + name + "}", value)
        return text

    @contextmanager
    def flow(self, name, path, *, keep=False, **names):
        """Create the flow from the `definition`, or update it; one that was not there before is deleted at the end.

        *path* has it in the flow definition language; --language chooses another file beside it.
        With *keep*, or when the session keeps everything, it stays, so that its history can be looked at.
        """
        path = path.with_name(LANGUAGES[self.given.language])
        content = {"Name": name, "Definition": self.definition(path, **names), "Description": name, "Type": "FDL"}
        if self.given.role_arn:
            content["RoleArn"] = self.given.role_arn
        try:
            self.call("CreateFlow", **content)
            created = True
        except ServiceRefused as error:
            if error.code != "FlowAlreadyExists":
                raise
            self.call("UpdateFlow", **content)
            created = False
        try:  # from here on, as nobody may read what is said
            say(_("flow {name} created", name=name) if created else _("flow {name} updated", name=name))
            yield
        finally:
            if created and not keep and not self.keeps:
                self.call("DeleteFlow", Name=name)
                say(_("flow {name} deleted", name=name))

    def start(self, flow, text):
        """Start an execution with the input *text* and return its name."""
        name = self.call("StartExecution", FlowName=flow, Input=text)["Name"]
        say(_("execution {name} started with {input}", name=name, input=text))
        return name

    def execute(self, flow, text, on_event=None):
        """Start an execution and `follow` it to its end."""
        return self.follow(flow, self.start(flow, text), on_event)

    def follow(self, flow, execution, on_event=None):
        """Print each event of the execution once, as it happens, then its result; return status, output and events.

        *on_event* is called with every event after it was printed. What is returned is recorded, if that is wanted.
        """
        events = []
        started = None
        as_json = self.given.events == "json"
        if not as_json:
            say(_("  id      time  step              event               detail"))
        while True:
            # Asked before the history, so that a final status means that the history is complete.
            state = self.call("DescribeExecution", FlowName=flow, ExecutionName=execution)
            for event in self._history(flow, execution):
                if events and event["EventId"] <= events[-1]["EventId"]:
                    continue
                events.append(event)
                moment = datetime.fromisoformat(event["Time"].replace("Z", "+00:00"))
                started = started or moment
                say(json.dumps({"event": event}) if as_json else line(event, (moment - started).total_seconds()))
                if on_event is not None:
                    on_event(event)
            if state["Status"] in FINAL:
                output = state.get("Output") or "{}"
                say(_("execution {status}: {output}", status=state["Status"], output=output))
                finished = {**state, "Events": events}
                self._record(finished)
                return finished
            time.sleep(POLL_INTERVAL_S)

    def _record(self, finished):
        """Add an execution, as JSON on one line, to the file that was asked for."""
        if not self.given.record:
            return
        try:
            with open(self.given.record, "a", encoding="utf-8") as record:
                record.write(json.dumps(finished) + "\n")
        except OSError as error:  # no reason to leave the flow and all else behind
            text = _("{file} cannot be written: {reason}", file=self.given.record, reason=error.strerror)
            _complain(text, 1)

    def _history(self, flow, execution):
        token = {}
        while True:
            page = self.call("GetExecutionHistory", FlowName=flow, ExecutionName=execution, Limit=500, **token)
            yield from page.get("Events") or []
            if not page.get("NextToken"):
                return
            token = {"NextToken": page["NextToken"]}


def _(text, **fields):
    """Return *text* in the user's language, with *fields* in the places of its ``{names}``."""
    return CATALOGUE.gettext(text).format(**fields)


def say(text=""):
    """Print a line at once, also into a pipe."""
    print(text, flush=True)


def line(event, offset_s):
    """Return one event as a line of text."""
    step = event.get("StepName") or "-"
    text = f"{event['EventId']:>4}  {offset_s:>7.2f}s  {step:<17} {event['Type']:<19} {detail(event)}".rstrip()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else len(text)
    return text if len(text) <= width else text[: width - 3] + "..."


def detail(event):
    """Return what matters most of an event's detail, short."""
    content = content_of(event)
    for keys in (("error", "cause"), ("goto",), ("output",), ("duration",), ("input",)):
        parts = [f"{key}={shown(content[key])}" for key in keys if content.get(key) not in (None, "")]
        if parts:
            text = " ".join(parts)
            return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
    return ""


def content_of(event):
    """Return an event's detail as a dictionary."""
    try:
        return json.loads(event.get("EventDetail") or "{}")
    except ValueError:
        return {}


def shown(value):
    """Return *value* on one line as it reads best: texts bare, the rest as compact JSON."""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def command_line(description, default_input):
    """Return a parser for the options every client has; more may be added."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--sdk", choices=sorted(SDKS), default="core", help="which official SDK to use")
    parser.add_argument("--language", choices=sorted(LANGUAGES), default="fdl", help="language of the flow")
    parser.add_argument("--input", default=default_input, help="input of the execution, JSON")
    parser.add_argument("--endpoint", default=os.environ.get("LOCALYUN_ENDPOINT", ""), help="URL of the service")
    region = os.environ.get("LOCALYUN_REGION") or os.environ.get("REGION") or "cn-hangzhou"
    parser.add_argument("--region", default=region, help="default cn-hangzhou")
    parser.add_argument("--role-arn", default=os.environ.get("ROLE_ARN", ""), help="role of the flow")
    parser.add_argument("--events", choices=("table", "json"), default="table", help="how to print each event")
    parser.add_argument("--keep", action="store_true", help="leave everything that was made")
    parser.add_argument("--record", metavar="FILE", help="add each finished execution with its events to FILE, JSON")
    return parser


def main(client, parser):
    """Run *client* with a `Session` and end the program: 0 when it went as promised, 1 when not, 2 for wrong usage."""
    given = parser.parse_args()
    account = os.environ.get("LOCALYUN_ACCOUNT_ID") or os.environ.get("ACCOUNT_ID")
    key_id = os.environ.get("ALIBABA_CLOUD_ACCESS_KEY_ID") or os.environ.get("AK_ID")
    secret = os.environ.get("ALIBABA_CLOUD_ACCESS_KEY_SECRET") or os.environ.get("AK_SECRET")
    if not (account and key_id and secret):
        sys.exit(
            _complain(
                _(
                    "set ALIBABA_CLOUD_ACCESS_KEY_ID, ALIBABA_CLOUD_ACCESS_KEY_SECRET and ACCOUNT_ID; "
                    'for localyun: eval "$(localyun env)"'
                ),
                2,
            )
        )
    try:
        code = 0 if client(Session(given, account, key_id, secret)) else 1
    except ImportError as error:
        text = _("an SDK is not installed ({error}); pip install 'localyun[sdk]' brings them all", error=error)
        code = _complain(text, 1)
    except ServiceRefused as error:
        code = _complain(_("the service refused: {error}", error=error), 1)
    except (TimeoutError, subprocess.SubprocessError) as error:
        code = _complain(str(error), 1)
    except BrokenPipeError:  # nobody reads on; Python would complain once more when it flushes at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _complain(text, code):
    print(text, file=sys.stderr)
    return code
