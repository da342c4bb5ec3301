"""A program for tests that asks for its calls as the vendor's Go library does: a poll is open while a call runs.

It sends requests by itself: `http.client` takes longer to load than all that most instances do.
"""

import base64
import json
import os
import socket
import threading

authority, secret = os.environ["FC_RUNTIME_API"].split("/")
host, port = authority.split(":")
base = f"/{secret}/2020-11-11/runtime/invocation/"


def ask(method, page, body=None, headers=None):
    fields = {"Host": authority, "Connection": "close", "Content-Length": len(body or b""), **(headers or {})}
    head = [f"{method} {base}{page} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    with socket.create_connection((host, int(port))) as link, link.makefile("rb") as answer:
        link.sendall("\r\n".join(head).encode("latin-1") + (body or b""))
        status, got = int(answer.readline().split()[1]), {}
        while line := answer.readline().decode("latin-1").rstrip("\r\n"):
            name, _, value = line.partition(":")
            got[name.lower()] = value.strip()
        return status, got, answer.read(int(got["content-length"]))


def perform(headers, body):
    request_id = headers["x-fc-request-id"]
    order = json.loads(body) if body.startswith(b"{") else {}
    print(f"FC Invoke Start RequestId: {request_id}", flush=True)
    print(f"kind {headers['x-fc-function-type']}", flush=True)
    if order.get("exit"):
        os._exit(order["exit"])
    if order.get("silent"):
        return
    if order.get("meet"):
        barrier.wait(10)
    answer = {}
    if headers.get("x-fc-http-params"):
        seen = json.loads(base64.b64decode(headers["x-fc-http-params"]))
        content = json.dumps(seen | {"body": body.decode()}).encode()
        told = {"status": 201, "headersMap": {"X-Own": ["a", "b"]}}
        answer["x-fc-http-params"] = base64.b64encode(json.dumps(told).encode()).decode()
    elif "echo" in order:
        content = order["echo"].encode()
    else:
        content = json.dumps({"headers": dict(headers), "body": body.decode()}).encode()
    status, _, _ = ask("POST", f"{request_id}/{'error' if order.get('fail') else 'response'}", content, answer)
    if status != 200:
        print(f"refused with {status}", flush=True)


barrier = threading.Barrier(2)
if os.environ.get("STRANGER"):
    print(ask("GET", "../../../../next")[0], ask("POST", "nobody/response", b"x")[0], flush=True)
while not os.environ.get("NEVER") or threading.Event().wait():
    _, headers, body = ask("GET", "next")
    threading.Thread(target=perform, args=(headers, body)).start()
