"""Two small debuggers: the Debug Adapter Protocol for Python, the inspector's protocol for Node.js."""

import json
import socket
import urllib.request
from collections.abc import Callable
from typing import Any, Self

from websockets.sync.client import connect

_PATIENCE_S = 30
_MOST_MESSAGES = 1000


class Adapter:
    """A client of the Debug Adapter Protocol on a TCP connection, as an editor that attaches is one."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _PATIENCE_S)
        self._stream = self._socket.makefile("rb")
        self._sequence = 0
        self._kept: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._stream.close()
        self._socket.close()

    def attach(self, *, stops: dict[str, list[int]]) -> None:
        """Attach with breakpoints in *stops* (file -> lines) and let the program run."""
        self.ask("initialize", adapterID="debugpy", clientID="test", pathFormat="path", linesStartAt1=True)
        self._send("attach", justMyCode=True)
        self.event("initialized")
        for path, lines in stops.items():
            self.ask("setBreakpoints", source={"path": path}, breakpoints=[{"line": line} for line in lines])
        self.tell("configurationDone")

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and return the body of its response."""
        number = self._send(command, **arguments)
        answer = self._next(lambda message: message.get("request_seq") == number)
        assert answer["success"], answer
        return answer.get("body", {})

    def tell(self, command: str, **arguments: Any) -> None:
        """Send a request that lets the program run on: it may end before it could confirm that."""
        self._send(command, **arguments)

    def event(self, name: str) -> dict[str, Any]:
        """Wait for an event and return its body."""
        return self._next(lambda message: message.get("event") == name).get("body", {})

    def _send(self, command: str, **arguments: Any) -> int:
        self._sequence += 1
        message = {"seq": self._sequence, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return self._sequence

    def _next(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for _ in range(_MOST_MESSAGES):
            found = next((message for message in self._kept if wanted(message)), None)
            if found is not None:
                self._kept.remove(found)
                return found
            self._kept.append(self._read())
        raise AssertionError("the debugger said a thousand other things")

    def _read(self) -> dict[str, Any]:
        length = 0
        while line := self._stream.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the debugger has gone"
        return json.loads(self._stream.read(length))


class Inspector:
    """A client of the Node.js inspector's protocol."""

    def __init__(self, port: int) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=_PATIENCE_S) as answer:
            self._connection = connect(json.load(answer)[0]["webSocketDebuggerUrl"], open_timeout=_PATIENCE_S)
        self._socket = self._connection.__enter__()
        self._number = 0
        self._kept: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: Any) -> None:
        self._connection.__exit__(*reason)

    def tell(self, method: str, **parameters: Any) -> None:
        """Send a command that lets the program run on: it may end before it could confirm that."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self.tell(method, **parameters)
        number = self._number
        answer = self._next(lambda message: message.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def event(self, method: str) -> dict[str, Any]:
        """Wait for an event and return its parameters."""
        return self._next(lambda message: message.get("method") == method)["params"]

    def _next(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for _ in range(_MOST_MESSAGES):
            found = next((message for message in self._kept if wanted(message)), None)
            if found is not None:
                self._kept.remove(found)
                return found
            self._kept.append(json.loads(self._socket.recv(_PATIENCE_S)))
        raise AssertionError("the inspector said a thousand other things")
