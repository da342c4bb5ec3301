"""The root of every error a client may see.

::

    ServiceError
    |-- FcError            services/fc/errors.py
    |-- MnsError           services/mns/errors.py
    |-- PopError           dialect/rpc.py: what the RPC gateway in front of FnF, STS, ... answers
    |   `-- WorkflowError  services/workflow/errors.py
    `-- GatewayError       gateway/errors.py: what is refused before a service is known

Domain code raises; the gateway catches once; each dialect renders. Anything that is not a `ServiceError` is a bug of
ours and is answered as that dialect's internal error.
"""

from typing import Any, ClassVar


class ServiceError(Exception):
    """An error a client may see: a documented code, its HTTP status and a message.

    Subclasses set ``code``, ``http_status`` and ``template``; the keyword fields given at the raise site fill the
    template and stay readable as ``fields``.
    """

    code: ClassVar[str] = "InternalServerError"
    http_status: ClassVar[int] = 500
    template: ClassVar[str] = "An internal error has occurred. Please retry."

    def __init__(self, message: str | None = None, **fields: Any) -> None:
        self.fields = fields
        self.message = message if message is not None else self.template.format_map(fields)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
