"""The admin interface of Function Compute, for the emulator's console and commands: logs, triggers, debugging, metrics.

The cloud has no such operations. They concern the installation's own account, in its own region unless another one is
named; results are JSON values.
"""

from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from itertools import islice
from typing import Any

from emulator.kernel.clock import Clock
from emulator.kernel.function_names import read_function
from emulator.kernel.identity import Region, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.metering import Amount
from emulator.kernel.metrics import Family, Sample, gauge, labelled
from emulator.kernel.paging import Page, cut
from emulator.services.fc.catalog.code import Download
from emulator.services.fc.catalog.resolving import Target
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.invoke.invoking import FunctionCall, refusal
from emulator.services.fc.invoke.metering import amounts
from emulator.services.fc.model import FunctionName, Slice, display_name
from emulator.services.fc.runtime.agent import debugpy_folder
from emulator.services.fc.runtime.debugger import DebugSession
from emulator.services.fc.runtime.model import RuntimeFailure
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.service import FunctionCompute
from emulator.services.fc.triggers.model import Trigger

_AT_ONCE = 100
"""How many triggers `every_trigger` reads at a time, before others may write."""


class FunctionAdmin:
    """The admin operations of Function Compute. *pool* runs the instances; an empty *region* is the installation's."""

    def __init__(
        self, functions: FunctionCompute, clock: Clock, ids: Ids, pool: InstancePool, region: str = ""
    ) -> None:
        self._functions = functions
        self._tenant = Tenant(functions.tenant.account, Region(region)) if region else functions.tenant
        self._clock = clock
        self._ids = ids
        self._pool = pool

    def of_region(self, region: str) -> "FunctionAdmin":
        """Return the admin operations for *region* of the same account; an empty text is the installation's region."""
        return FunctionAdmin(self._functions, self._clock, self._ids, self._pool, region)

    def names(self) -> list[str]:
        """Return the names of all functions, ``service/function`` or ``function``."""
        return sorted(display_name(service, name) for service, name in self._functions.store.heads(self._tenant))

    def page(self, start: str, limit: int, containing: str = "") -> Page[tuple[str, str]]:
        """Return (service, function) of a page of functions, from ``service/function`` or ``function`` on.

        *containing* is a part of their names, in any case. The marker is the first name of the next page.
        """
        service, _, name = start.rpartition("/")
        names = self._functions.store.names(self._tenant, containing, (service, name), limit + 1)
        return cut(names, limit, lambda each: display_name(*each))

    def counts(self) -> dict[str, int]:
        """Return how many services and functions there are in all tenants."""
        return self._functions.store.counts()

    def metered(self) -> Iterator[Amount]:
        """Yield the billable amounts that calls and instances have used since the emulator's start."""
        return amounts(self._functions.invoker.spent, self._pool.kept_ms())

    def metrics(self) -> Iterator[Family]:
        """Yield calls in flight and ended, instances, and asynchronous calls that have not ended."""
        numbers = self._pool.numbers()
        yield gauge("localyun_fc_invocations_in_flight", "Calls being made.", numbers.calls)
        text = "Instances: busy with a call, idle and warm."
        states = {"busy": numbers.busy, "idle": numbers.all - numbers.busy}
        yield labelled("localyun_fc_instances", "gauge", text, "state", states)
        yield gauge("localyun_fc_provisioned_instances", "Instances kept ready, busy or not.", numbers.provisioned)
        ended = [
            Sample({"result": result, "start": start}, number)
            for (result, start), number in self._functions.invoker.ended.items()
        ]
        text = "Calls that have ended; refused ones did not reach the function."
        yield Family("localyun_fc_invocations_total", "counter", text, ended)
        text = "Asynchronous calls that have not ended, by status."
        open_calls = self._functions.async_store.open_numbers()
        yield labelled("localyun_fc_async_calls", "gauge", text, "status", open_calls)

    def logs(self, function: str, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        """Yield the last *lines* lines of ``service/function`` or ``function``, then new ones while following.

        An empty *function* means all functions; their lines start with the function's name.

        Raises: FunctionNotFound when there is neither such a function nor a log of one.
        """
        logbook = self._functions.logbook
        if not function:
            return logbook.read_all(self._tenant, lines, follow=follow)
        service, _, name = function.rpartition("/")
        if (service, name) not in logbook.names(self._tenant):
            self._functions.store.existing_function(self._tenant, service, name)
        return logbook.read(self._tenant, service, name, lines, follow=follow)

    def code_download(self, token: str) -> Download | None:
        """Return the package a GetFunctionCode answer pointed to, None when the token is unknown or has expired."""
        return self._functions.packages.download(token)

    def problems(self) -> list[str]:
        """Return what is wrong with files of the functions folder, each with its place."""
        return self._functions.problems

    def triggers(self, skipped: int, limit: int) -> list[dict[str, Any]]:
        """Return triggers by function and name: ``function``, ``trigger``, ``type``, ``qualifier``, ``enabled`` ...

        Up to *limit* after the first *skipped*. ``waitsFor`` is why one does not work yet, empty when it does.
        """
        return [self._shown(each) for each in self._functions.sources.store.of_tenant(self._tenant, skipped, limit)]

    def every_trigger(self) -> Iterator[list[dict[str, Any]]]:
        """Yield all triggers, as `triggers` does, some at a time; others may write in between."""
        last = "", "", ""
        while rows := self._functions.sources.store.after(self._tenant, last, _AT_ONCE):
            yield [self._shown(each) for each in rows]
            last = rows[-1].service, rows[-1].function, rows[-1].name

    def triggers_of(self, service: str, function: str, limit: int) -> list[tuple[dict[str, Any], bytes]]:
        """Return up to *limit* triggers of a function, as `triggers` does, each with the event it would give now."""
        sources = self._functions.sources
        return [
            (self._shown(each), sources.firing.event(self._tenant, each, None))
            for each in sources.store.some(self._tenant, service, function, Slice(limit=limit))[:limit]
        ]

    def idle_triggers(self, limit: int) -> list[dict[str, Any]]:
        """Return up to *limit* triggers, as `triggers` does, that are switched off or wait for something."""
        shown = map(self._shown, self._functions.sources.store.dependent(self._tenant, off=True))
        return list(islice((row for row in shown if not row["enabled"] or row["waitsFor"]), limit))

    def waiting_triggers(self) -> list[dict[str, Any]]:
        """Return the triggers, as `triggers` does, that wait for something."""
        shown = map(self._shown, self._functions.sources.store.dependent(self._tenant, off=False))
        return [row for row in shown if row["waitsFor"]]

    def triggers_named(self, containing: str, limit: int) -> list[tuple[str, str]]:
        """Return function and name of up to *limit* triggers with *containing* in their names."""
        found = self._functions.sources.store.named(self._tenant, containing, limit)
        return [(display_name(service, function), name) for service, function, name in found]

    def _shown(self, trigger: Trigger) -> dict[str, Any]:
        sources = self._functions.sources
        return {
            "function": display_name(trigger.service, trigger.function),
            "trigger": trigger.name,
            "type": trigger.kind,
            "qualifier": trigger.qualifier,
            "enabled": trigger.enabled,
            "waitsFor": sources.triggers.waits_for(self._tenant, trigger),
            "config": dict(trigger.config),
            "sourceArn": trigger.source_arn,
            "urls": sources.urls(self._tenant, trigger),
        }

    def trigger_event(self, function: str, trigger: str, payload: str | None = None) -> bytes:
        """Return the event that a trigger of ``service/function`` would give its function now; see `fire_trigger`.

        Raises: TriggerNotFound.
        """
        return self._functions.sources.firing.event(self._tenant, self._trigger(function, trigger), payload)

    def sessions(self, function: str = "", limit: int = 1000) -> list[dict[str, Any]]:
        """Return the latest sessions of ``function`` or of all: ``function``, ``session``, ``kind``, ``instance`` ...

        ``due`` is when it ends, or when the record of an ended one goes, None for one that ends with its connection.

        Raises: FunctionNotFound when there is neither such a function nor a session of one.
        """
        service, _, name = function.rpartition("/")
        found = self._functions.session_store.latest(self._tenant, service, name, limit)
        if function and not found:
            self._functions.store.existing_function(self._tenant, service, name)
        return [
            {
                "function": display_name(session.lane.service, session.lane.function),
                "qualifier": session.lane.qualifier,
                "session": session.session_id,
                "kind": session.kind,
                "status": session.status.value,
                "version": session.version,
                "instance": self._functions.sessions.instance_id(session),
                "used": session.used_at,
                "due": session.due_at,
            }
            for session in found
        ]

    def _trigger(self, function: str, trigger: str) -> Trigger:
        service, _, name = function.rpartition("/")
        return self._functions.sources.triggers.get(self._tenant, service, name, trigger)

    async def fire_trigger(
        self, function: str, trigger: str, payload: str | None, event: bytes | None
    ) -> dict[str, Any]:
        """Call the function of a trigger of ``service/function`` as the trigger would, and return the result.

        *payload* stands for what the source brings: a timer's payload, a message's body, an object's key, the body of
        an HTTP request. *event* is the whole event, given to the function as it is.

        Raises: TriggerNotFound and what a call raises.
        """
        row = self._trigger(function, trigger)
        fired = await self._functions.sources.firing.fire(self._tenant, row, payload=payload, event=event)
        return {"status": fired.status, **_result(fired.request_id, fired.error_type or None, fired.body, fired.log)}

    async def call_later(self, function: str, event: bytes) -> AsyncIterator[dict[str, Any]]:
        """Queue a call of ``[service/]function[.qualifier]`` and yield ``{requestId}``, then how it ended.

        The end is ``{status, attempts, httpStatus, error, body, destination}``: ``body`` is base64, ``destination``
        is None or ``{resource, delivered}``. A refused call is ``{Code, Message}``.
        """
        functions = self._functions
        try:
            name = _named(function)
            request_id = await functions.invoke_async(self._tenant, name, event, key=f"command/{self._ids.uuid()}")
        except FcError as error:
            yield _problem(error)
            return
        yield {"requestId": request_id}
        ended = await functions.completion(self._tenant, request_id)
        resource = functions.async_queue.destination(self._tenant, name, ended.status)
        told = {"resource": resource, "delivered": ended.destination == "Succeeded"} if ended.destination else None
        yield {
            "status": ended.status.value,
            "attempts": ended.attempts,
            "httpStatus": ended.http_status,
            "error": ended.error or None,
            "body": b64encode(ended.body).decode("ascii"),
            "destination": told,
        }

    def debug(self, function: str, event: bytes, *, wait: bool, port: int) -> AsyncIterator[dict[str, Any]]:
        """Call ``[service/]function[.qualifier]`` under a debugger and yield the steps; closing it ends the call.

        First ``{debugger: {host, port, runtime, codeFolder, inPlace}}``, once debuggers can connect to *port* (any free
        one when it is 0); then ``{requestId, error, body, log}`` like a call's answer, ``body`` in base64. When
        something fails meanwhile, ``{Code, Message}`` ends it. With *wait* the function runs once a debugger is
        attached.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, EntityTooLarge; InvalidArgument when
        the function has no runtime that can be debugged here.
        """
        name = _named(function)
        call = FunctionCall(
            service=name.service,
            function=name.function,
            qualifier=name.qualifier,
            event=event,
            request_id=self._ids.uuid(),
            now=self._clock.now(),
        )
        target = self._functions.invoker.check(self._tenant, call)
        if target.function.problem:
            raise InvalidArgument(target.function.problem)
        runtime = target.image.runtime
        if not runtime.startswith(("python", "nodejs")):
            raise InvalidArgument(f"a debugger can be attached to Python and Node.js functions only, not to {runtime}")
        if runtime.startswith("python") and not debugpy_folder():
            raise InvalidArgument("debugging Python needs debugpy beside the emulator: pip install 'localyun[debug]'")
        return self._steps(call, target, wait=wait, port=port)

    async def _steps(
        self, call: FunctionCall, target: Target, *, wait: bool, port: int
    ) -> AsyncIterator[dict[str, Any]]:
        functions = self._functions
        session = DebugSession(waits=wait)
        async with aclosing(session):
            try:
                yield {"debugger": _where(target, await session.listen(port))}
                invocation = functions.invoker.invocation(self._tenant, call, target)
                result = await functions.instances.debug(target.image, invocation, session)
            except RuntimeFailure as failure:
                yield _problem(refusal(failure))
            except OSError as error:
                yield _problem(InvalidArgument(f"nobody can listen on port {port}: {error.strerror or error}"))
            else:
                yield _result(call.request_id, result.error_type, result.body, result.log)


def _where(target: Target, port: int) -> dict[str, Any]:
    code = target.function.code
    return {
        "host": "127.0.0.1",
        "port": port,
        "runtime": target.image.runtime,
        "codeFolder": str(target.image.code_dir),
        "inPlace": bool(code and code.folder),
    }


def _result(request_id: str, error: str | None, body: bytes, log: bytes) -> dict[str, Any]:
    return {
        "requestId": request_id,
        "error": error,
        "body": b64encode(body).decode("ascii"),
        "log": log.decode("utf-8", "replace"),
    }


def _problem(error: FcError) -> dict[str, Any]:
    return {"Code": error.code, "Message": error.message}


def _named(text: str) -> FunctionName:
    """Read the name of a function. Raises: InvalidArgument."""
    try:
        service, function, qualifier = read_function(text)
    except ValueError:
        raise InvalidArgument(f"{text!r} does not name a function: [service/]function[.qualifier]") from None
    return FunctionName(service, function, qualifier or None)
