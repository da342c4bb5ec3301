"""What pages show and do, in words of pages: calls of the services' public methods, made on the loop.

One instance serves all pages; its methods are called in the console's thread.
"""

from collections.abc import Callable
from typing import Any

from emulator.console.front import Bridge
from emulator.kernel.identity import Tenant
from emulator.lab.service import Lab
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.service import MessageService
from emulator.services.workflow.service import Workflow


class View:
    """The services, as pages see them, reached by *bridge*. *about* returns version, addresses and the like."""

    def __init__(
        self,
        tenant: Tenant,
        *,
        functions: FunctionCompute,
        messages: MessageService,
        workflow: Workflow,
        lab: Lab,
        about: Callable[[], dict[str, Any]],
        bridge: Bridge,
    ) -> None:
        self.tenant = tenant
        self.functions = functions
        self.messages = messages
        self.workflow = workflow
        self.lab = lab
        self.about = about
        self._bridge = bridge

    def call(self, function: Any, *arguments: Any, **named: Any) -> Any:
        """Call a public method of a service on the loop and return its result."""
        return self._bridge.call(function, *arguments, **named)

    def clock(self) -> dict[str, Any]:
        """Return the emulator's time and what comes next."""
        return dict(self.call(self.lab.time.view))
