"""A call with a debugger in it: checked like any other, run in an instance of its own, told step by step.

What the steps say is the emulator's own; the cloud has nothing like it.
"""

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.invoking import Call, Invoker, refusal
from emulator.services.fc.ports import Instances
from emulator.services.fc.resolving import Target
from emulator.services.fc.runtime.agent import debugpy_folder
from emulator.services.fc.runtime.debugger import DebugSession
from emulator.services.fc.runtime.model import RuntimeFailure


class Debugging:
    """Makes calls that a debugger can look into."""

    def __init__(self, invoker: Invoker, instances: Instances) -> None:
        self._invoker = invoker
        self._instances = instances

    def steps(self, tenant: Tenant, call: Call, *, wait: bool, port: int) -> AsyncIterator[dict[str, Any]]:
        """Make *call* and yield what happens, in JSON's terms; closing the iterator ends the call.

        First ``{debugger: {host, port, runtime, codeFolder, inPlace}}``, once debuggers can connect to *port* (any free
        one when it is 0); then ``{requestId, error, body, log}`` like a call's answer, ``body`` in base64. When
        something fails meanwhile, ``{Code, Message}`` ends it. With *wait* the function runs once a debugger is
        attached.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, EntityTooLarge; InvalidArgument when
        the function has no runtime that can be debugged here.
        """
        target = self._invoker.check(tenant, call)
        if target.function.problem:
            raise InvalidArgument(target.function.problem)
        runtime = target.image.runtime
        if not runtime.startswith(("python", "nodejs")):
            raise InvalidArgument(f"a debugger can be attached to Python and Node.js functions only, not to {runtime}")
        if runtime.startswith("python") and not debugpy_folder():
            raise InvalidArgument("debugging Python needs debugpy beside the emulator: pip install 'localyun[debug]'")
        return self._steps(tenant, call, target, wait=wait, port=port)

    async def _steps(
        self, tenant: Tenant, call: Call, target: Target, *, wait: bool, port: int
    ) -> AsyncIterator[dict[str, Any]]:
        session = DebugSession(waits=wait)
        async with aclosing(session):
            try:
                yield {"debugger": _where(target, await session.listen(port))}
                invocation = self._invoker.invocation(tenant, call, target)
                result = await self._instances.debug(target.image, invocation, session)
            except RuntimeFailure as failure:
                yield _problem(refusal(failure))
            except OSError as error:
                yield _problem(InvalidArgument(f"nobody can listen on port {port}: {error.strerror or error}"))
            else:
                yield {
                    "requestId": call.request_id,
                    "error": result.error_type,
                    "body": b64encode(result.body).decode("ascii"),
                    "log": result.log.decode("utf-8", "replace"),
                }


def _where(target: Target, port: int) -> dict[str, Any]:
    code = target.function.code
    return {
        "host": "127.0.0.1",
        "port": port,
        "runtime": target.image.runtime,
        "codeFolder": str(target.image.code_dir),
        "inPlace": bool(code and code.folder),
    }


def _problem(error: FcError) -> dict[str, Any]:
    return {"Code": error.code, "Message": error.message}
