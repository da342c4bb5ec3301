"""What the rows of other emulators share: their children, requests in AWS's form, times of calls."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.load import answered
from benchmarks.server import Connection, checked, p50_ms

INSTALLED = Path(__file__).resolve().parent.parent / ".bench"
"""Where other emulators are installed on first use."""

SCOPE = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/{}/aws4_request, SignedHeaders=host, Signature=0"


def sqs(action: str, **parameters: str) -> bytes:
    """Return a call of SQS as bytes."""
    body = urlencode({"Action": action, "Version": "2012-11-05", **parameters})
    return aws("sqs", "/", body, "Content-Type: application/x-www-form-urlencoded\r\n")


def states(operation: str, parameters: dict[str, str]) -> bytes:
    """Return a call of Step Functions as bytes."""
    target = f"Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AWSStepFunctions.{operation}\r\n"
    return aws("states", "/", json.dumps(parameters), target)


def aws(service: str, path: str, body: str, headers: str = "Content-Type: application/json\r\n") -> bytes:
    """Return a request as bytes; peers read the service out of the scope and check no signature."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Authorization: {SCOPE.format(service)}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode("ascii")


def get_request(path: str) -> bytes:
    """Return a GET as bytes."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode("ascii")


def get(port: int, path: str) -> bytes:
    """Return the body that a GET is answered with."""
    return ask(port, get_request(path))


def ask(port: int, request: bytes) -> bytes:
    """Return the body of a 200."""
    with Connection(port) as connection:
        return checked(connection.ask(request), 200)


def gets_ms(port: int, path: str) -> float:
    """Return the median time of warm GETs over one connection, in ms."""
    return p50_ms(port, get_request(path))


def child(command: list[str], folder: Path, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a program that prints nothing."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def start_ms(start: "Callable[[], subprocess.Popen[bytes]]", port: int, ask: Callable[[], object]) -> float:
    """Return how long it takes from starting a program until *ask* is answered on *port*, in ms; ends it."""
    began = time.perf_counter()
    started = start()
    try:
        answered(port, ask, 120)
        return (time.perf_counter() - began) * 1000
    finally:
        end(started)


def end(program: "subprocess.Popen[Any]") -> None:
    """End a program by its own id."""
    program.send_signal(signal.SIGTERM)
    try:
        program.wait(15)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
