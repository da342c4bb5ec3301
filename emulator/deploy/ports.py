"""What a deployment needs from outside: an emulator that answers calls."""

from collections.abc import Mapping
from typing import Any, Protocol

Reply = dict[str, Any]


class Cloud(Protocol):
    """Signed calls to the services of one account and region.

    Each call raises `Refused` when the answer is an error.
    """

    def functions(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Reply:
        """Call an operation of Function Compute; *path* holds version and query and is percent-encoded."""
        ...

    def invoke(self, path: str, payload: bytes, *, asynchronous: bool) -> tuple[bytes, str]:
        """Call a function and return its answer and the kind of its error, empty when it has none."""
        ...

    def rpc(self, version: str, action: str, parameters: Mapping[str, str]) -> Reply:
        """Call an operation of a service that speaks RPC."""
        ...

    def download(self, url: str) -> bytes:
        """Return what is at a URL that this emulator gave out."""
        ...
