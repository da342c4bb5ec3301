"""The kit a test works with: one object for an emulator, from the clock to the clients of the official SDKs."""

import hashlib
import os
import re
import subprocess
from base64 import b64decode
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from emulator.kernel.function_names import read_function
from emulator.kernel.names import EVERYWHERE, fitted
from emulator.kernel.spelling import suggestion
from emulator.kernel.system import own_command
from emulator.testing.api import Api, NotInstalled, TestingError, hidden, refusal, segment
from emulator.testing.doubles import Call, Faults, InvokeResult, Mock, Sink, calls_of, encoded, readable_answer
from emulator.testing.resources import Checkpoint, Clock, Duration, Execution, Flow, Queue, Topic, duration
from emulator.testing.usage import Usage

__tracebackhide__ = hidden

_FILE = r"[^\n]+\.(?:ya?ml|json)"
_SDK = "'localyun[sdk]'"
_EXTRAS = {"oss2": "'localyun[oss]' oss2"}
"""The extra to install for a package that is not in the extra ``sdk``."""


class Localyun:
    """The emulator of a test.

    ``endpoint``, ``access_key_id``, ``access_key_secret``, ``account_id`` and ``region`` are what SDKs need; ``env``
    holds them under the names that SDKs and the command line read.
    """

    endpoint: str
    https_endpoint: str
    access_key_id: str
    access_key_secret: str
    account_id: str
    region: str
    token: str
    state: str
    api: Api
    clock: Clock
    faults: Faults

    def __init__(
        self,
        endpoint: str,
        *,
        access_key_id: str,
        access_key_secret: str,
        account_id: str,
        region: str,
        token: str,
        https_endpoint: str = "",
        state: str = "",
    ) -> None:
        self.endpoint = endpoint
        self.https_endpoint = https_endpoint
        self.access_key_id = access_key_id
        self.access_key_secret = access_key_secret
        self.account_id = account_id
        self.region = region
        self.token = token
        self.state = state
        self.api = Api(endpoint, access_key_id=access_key_id, access_key_secret=access_key_secret, token=token)
        self.clock = Clock(self.api)
        self.faults = Faults(self.api)
        self.test_name = ""
        """The id of the test; default names of resources are made from it."""
        self.schedule: dict[str, Any] | None = None
        """The body of POST schedule at the beginning of a test; None for no schedule."""
        self.explored = ""
        """A sentence about the schedules tried, for an explored test."""
        self.exploration: dict[str, Any] | None = None
        """The result of an exploration, as POST explorations takes it."""
        self._baseline = ""
        self._checkpoints = 0
        self._folder: Path | None = None
        self._closing = ExitStack()
        self._closing.callback(self.api.close)

    def close(self) -> None:
        """Close the connections."""
        self._closing.close()

    @property
    def env(self) -> dict[str, str]:
        """Address and keys as environment variables."""
        return {
            "LOCALYUN_ENDPOINT": self.endpoint,
            "LOCALYUN_TOKEN": self.token,
            "LOCALYUN_ACCESS_KEY_ID": self.access_key_id,
            "LOCALYUN_ACCESS_KEY_SECRET": self.access_key_secret,
            "LOCALYUN_ACCOUNT_ID": self.account_id,
            "LOCALYUN_REGION": self.region,
            "LOCALYUN_STATE": self.state,
            "ALIBABA_CLOUD_ACCESS_KEY_ID": self.access_key_id,
            "ALIBABA_CLOUD_ACCESS_KEY_SECRET": self.access_key_secret,
            "ALIBABA_CLOUD_ACCOUNT_ID": self.account_id,
            "ALIBABA_CLOUD_REGION_ID": self.region,
        }

    def begin(self, test_name: str, folder: Path, baseline: str) -> None:
        """Restore the checkpoint *baseline* for a test, whose file is in *folder*."""
        self.test_name = test_name
        self._folder = folder
        self._baseline = baseline
        self.begin_again()

    def begin_again(self, schedule: Mapping[str, Any] | None = None, baseline: str = "") -> None:
        """Restore the test's baseline, or another one, with another schedule if one is given."""
        self.api.admin("POST", f"checkpoints/{segment(baseline or self._baseline)}/restore")
        self._checkpoints = 0
        chosen = self.schedule if schedule is None else schedule
        if chosen is not None:
            self.api.admin("POST", "schedule", chosen)

    def choice(self, label: str, options: Sequence[Any]) -> Any:
        """Return one of *options*: the first one; in an explored test, each other one in a separate run.

        They are values of JSON.
        """
        options = list(options)
        answer = self.api.admin("POST", "schedule/choice", {"label": label, "options": options})
        return options[answer["taken"]]

    def end(self) -> None:
        """End the test."""
        self.test_name = ""
        self._folder = None

    def command(self, *words: str) -> str:
        """Run ``localyun`` with *words* on this emulator and return what it prints.

        Raises: TestingError with the command's own words.
        """
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
        done = subprocess.run(  # noqa: S603 - our own program
            own_command(*words),
            env={**environment, **self.env, "LC_ALL": "C.UTF-8", "LANGUAGE": "en", "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            raise TestingError((done.stderr or done.stdout).strip())
        return done.stdout

    def settle(self, timeout: Duration = "5s") -> dict[str, Any]:
        """Wait until the emulator is idle; return the response (``settled``, ``active``, ``waiting``).

        Raises: ApiError (NotSettled), whose ``body["active"]`` says what still does.
        """
        return dict(self.api.admin("POST", "settle", {"timeout": duration(timeout)}))

    def skip_until(
        self,
        condition: Mapping[str, Any] | None = None,
        /,
        *,
        execution: "Execution | str | None" = None,
        queue: "Queue | str | None" = None,
        visible: int = 1,
        calls: str | None = None,
        count: int = 1,
        quiet: bool = False,
        limit: Duration = "1h",
        timeout: Duration = "10s",
    ) -> dict[str, Any]:
        """Skip time until a condition holds.

        The condition: an execution has ended (of a flow's name alone, its latest), a queue has *visible* messages, a
        function *count* calls, all is quiet. The HTTP API's object, such as ``{"queue": "orders"}``, does as well.
        *limit* bounds the emulator's time, *timeout* the real time.

        Raises: ApiError (SkipEnded), whose ``body["active"]`` says what waits for whom.
        """
        until: Mapping[str, Any]
        if condition is not None:
            until = condition
        elif execution is not None:
            name = f"{execution.flow}/{execution.name}" if isinstance(execution, Execution) else execution
            until = {"execution": name}
        elif queue is not None:
            until = {"queue": queue.name if isinstance(queue, Queue) else queue, "visible": visible}
        elif calls is not None:
            until = {"calls": calls, "count": count}
        elif quiet:
            until = {"quiet": True}
        else:
            raise TestingError("skip_until needs one of execution, queue, calls and quiet")
        body = {"until": until, "limit": duration(limit), "timeout": duration(timeout)}
        return dict(self.api.admin("POST", "skip", body))

    def name(self, suffix: str = "") -> str:
        """Return a name that every service accepts, derived from the test's name; always the same for one test."""
        text = re.sub(r"[^a-z0-9]+", "-", self.test_name.rpartition("::")[2].lower())[:40].strip("-") or "test"
        digest = hashlib.sha256(self.test_name.encode()).hexdigest()[:8]
        own = f"t-{text}-{digest}"
        return fitted(f"{own}-{suffix}", EVERYWHERE) if suffix else own

    def queue(self, name: str = "") -> Queue:
        """Return a queue, creating it if needed; the default name is that of the test."""
        return Queue(self.api, name or self.name())

    def topic(self, name: str = "") -> Topic:
        """Return a topic, creating it if needed; the default name is that of the test."""
        return Topic(self.api, name or self.name())

    def flow(self, name: str = "", definition: "str | Path | None" = None, *, role_arn: str = "") -> Flow:
        """Return a flow; with *definition* (a text, or the path of a file) it is created or changed.

        A string of one line that ends in ``.yml``, ``.yaml`` or ``.json`` is a path. A path is relative to the working
        directory, else to the test's file.
        """
        if isinstance(definition, str) and re.fullmatch(_FILE, definition):
            definition = Path(definition)
        if isinstance(definition, Path):
            definition = self._found(definition).read_text(encoding="utf-8")
        return Flow(self.api, name or self.name(), definition, role_arn=role_arn)

    def sink(self, answers: Sequence[dict[str, Any]] = ()) -> Sink:
        """Return a new endpoint that records requests; *answers* are used in turn, such as ``{"status": 500}``."""
        return Sink(self.api, answers)

    def mock(
        self,
        function: str = "",
        *,
        step: str = "",
        action: str = "",
        returns: Any = None,
        raises: "BaseException | dict[str, str] | str | None" = None,
        answers: Sequence[dict[str, Any]] = (),
        then: str = "repeat",
        **answer: Any,
    ) -> Mock:
        """Mock *function* (``service/function[.qualifier]`` or ``function``): calls return these results instead.

        Or what a task of a flow calls: *step* is ``FLOW/STEP``, *action* one such as ``MNS:SendMessage``, also of
        products that are not here. A task that waits for a report gets the answer as what is reported.

        One answer is given by name: *returns* a value, or *raises* an exception, a text such as ``"SoldOut"`` or
        ``"SoldOut: no seat"``, or ``{"errorType": ..., "errorMessage": ...}``, and ``delay="1s"`` for one that takes a
        while. Several stand in *answers*, with the same members, and are given in turn. The HTTP API's names,
        ``return`` and ``error``, do in both places.
        *then* says what follows the last: ``repeat``, ``real`` or ``fail``.

        Raises: TestingError for one answer beside *answers*, ApiError for what an answer does not have.
        """
        given = {"returns": returns, "raises": raises}
        one = {name: value for name, value in given.items() if value is not None} | answer
        if answers and one:
            raise TestingError(f"{next(iter(one))}= is one answer and answers= are several: give one of the two")
        target = {name: text for name, text in (("function", function), ("step", step), ("action", action)) if text}
        if len(target) != 1:
            raise TestingError("a mock is for one of function, step= and action=")
        return Mock(self.api, target, [readable_answer(each) for each in answers or [one]], then)

    def calls(self, function: str) -> list[Call]:
        """Return the recorded calls of a function, oldest first."""
        path = "/".join(segment(part) for part in function.split("/"))
        return calls_of(self.api.admin("GET", f"calls/{path}"))

    def checkpoint(self, name: str = "") -> Checkpoint:
        """Save the whole state under a name, to restore it later; by default the test's, then with ``-2`` and so on."""
        if not name:
            self._checkpoints += 1
            name = self.name(str(self._checkpoints) if self._checkpoints > 1 else "")
        return Checkpoint(self.api, name)

    def account(self, account_id: str = "") -> "Localyun":
        """Return the kit for another account, adding the account if needed; its id is generated by default."""
        made = self.api.admin("POST", "accounts", {"accountId": account_id} if account_id else {})
        keys = {**made, "region": self.region, "adminToken": self.token}
        other = kit_of(keys, self.endpoint, https_endpoint=self.https_endpoint, state=self.state)
        other.test_name, other._folder = self.test_name, self._folder
        self._closing.callback(other.close)
        return other

    def invoke(self, function: str, event: Any = None, *, qualifier: str = "") -> InvokeResult:
        """Call ``service/function[.qualifier]`` or ``function[.qualifier]`` and return the result.

        Raises: ApiError when it could not be called, TestingError for what cannot name a function.
        """
        try:
            service, name, named = read_function(function)
        except ValueError:
            raise TestingError(f"{function!r} does not name a function: service/function or function") from None
        qualifier = qualifier or named
        if service:
            place = service if not qualifier else f"{service}.{qualifier}"
            target = f"/2016-08-15/services/{segment(place)}/functions/{segment(name)}/invocations"
        else:
            target = f"/2023-03-30/functions/{segment(name)}/invocations"
            target += f"?qualifier={segment(qualifier)}" if qualifier else ""
        answer = self.api.fc("POST", target, encoded(event), **{"X-Fc-Log-Type": "Tail"})
        if answer.status_code >= 400:
            raise refusal(answer)
        return InvokeResult(
            payload=answer.content,
            request_id=answer.headers.get("X-Fc-Request-Id", ""),
            error_type=answer.headers.get("X-Fc-Error-Type", ""),
            log=b64decode(answer.headers.get("X-Fc-Log-Result", "")).decode("utf-8", "replace"),
        )

    def logs(self, function: str = "", lines: int = 100) -> str:
        """Return the last lines of a function's log, or of all functions'."""
        query = {"lines": lines, **({"function": function} if function else {})}
        return self.api.admin_text("logs", **query)

    def deploy(self, path: "str | Path") -> None:
        """Deploy a template.yml or an s.yaml; a path is relative to the working directory, else to the test's file.

        Raises: TestingError with the command's own words.
        """
        try:
            self.command("deploy", "--yes", str(self._found(Path(path))))
        except TestingError as error:
            raise TestingError(f"{path} was not deployed:\n{error}") from error

    def _found(self, path: Path) -> Path:
        """Return *path* as it is seen from the working directory, else from the test's file.

        Raises: TestingError when there is no such file.
        """
        if path.exists():
            return path
        if self._folder is not None and (self._folder / path).exists():
            return self._folder / path
        folders = dict.fromkeys((Path.cwd(), self._folder or Path.cwd()))
        near = suggestion(path.name, [each.name for folder in folders for each in (folder / path).parent.glob("*")])
        raise TestingError(f"there is no {path} in {' or '.join(map(str, folders))}{near}")

    def begun(self) -> list[tuple[str, str]]:
        """Return flow and name of each execution started since the test began, oldest first."""
        lines = self.api.admin("GET", "report")["lines"]
        named = ((line.get("flow"), line.get("execution")) for line in lines)
        return list(dict.fromkeys((flow, execution) for flow, execution in named if flow and execution))

    def trace(self, id: str) -> dict[str, Any]:
        """Return the tree of causes and effects that a request, message, call or ``flow/execution`` belongs to."""
        return dict(self.api.admin("GET", f"trace/{segment(id)}"))

    def usage(self) -> Usage:
        """Return the usage of the test so far, as the cloud would meter it; outside of a test, the whole usage.

        Counting begins when the state is restored for the test, or for a run of one that is explored.
        """
        return Usage(self.api.admin("GET", "usage", restored="true" if self.test_name else "false"))

    def reset(self) -> None:
        """Delete the state of all services; functions of the folder stay."""
        self.api.admin("POST", "reset")

    @cached_property
    def mns(self) -> Any:
        """``mns.account.Account`` of aliyun-mns-sdk."""
        account = _module("mns.account").Account(self.endpoint, self.access_key_id, self.access_key_secret)
        self._closing.callback(account.mns_client.close_connection)
        return account

    @cached_property
    def fc2(self) -> Any:
        """``fc2.Client`` of aliyun-fc2."""
        client = _module("fc2").Client(
            endpoint=self.endpoint, accessKeyID=self.access_key_id, accessKeySecret=self.access_key_secret
        )
        if hasattr(client, "session"):
            self._closing.callback(client.session.close)
        return client

    @cached_property
    def fc3(self) -> Any:
        """``alibabacloud_fc20230330.client.Client``."""
        return _module("alibabacloud_fc20230330.client").Client(self._openapi_config())

    @cached_property
    def fnf(self) -> Any:
        """``alibabacloud_fnf20190315.client.Client``."""
        return _module("alibabacloud_fnf20190315.client").Client(self._openapi_config())

    @cached_property
    def oss(self) -> Any:
        """``oss2.Service``; a bucket is ``oss2.Bucket(localyun.oss.auth, localyun.endpoint, name)``."""
        oss2 = _module("oss2")
        return oss2.Service(oss2.Auth(self.access_key_id, self.access_key_secret), self.endpoint)

    def _openapi_config(self) -> Any:
        return _module("alibabacloud_tea_openapi.models").Config(
            access_key_id=self.access_key_id,
            access_key_secret=self.access_key_secret,
            endpoint=urlsplit(self.endpoint).netloc,
            protocol="http",
            region_id=self.region,
        )


def kit_of(keys: Mapping[str, str], endpoint: str, **more: str) -> Localyun:
    """Return the kit for the emulator of a key file's content; *more* are further arguments of `Localyun`."""
    return Localyun(
        endpoint,
        access_key_id=keys["accessKeyId"],
        access_key_secret=keys["accessKeySecret"],
        account_id=keys["accountId"],
        region=keys["region"],
        token=keys["adminToken"],
        **more,
    )


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise NotInstalled(f"the package of {name} is missing: pip install {_EXTRAS.get(name, _SDK)}") from error
