"""A custom runtime for tests: an HTTP server whose answers are told by the request, or by variables at its start.

It reads requests by itself: `http.server` takes longer to load than all that most instances do.
"""

import json
import os
import socket
import sys
import threading
import time

VARIABLES = ("FC_SERVER_PORT", "FC_CUSTOM_LISTEN_PORT", "FC_FUNC_CODE_PATH", "ALIBABA_CLOUD_ACCESS_KEY_ID", "OWN")
state = {"calls": 0}


class Connection:
    """Answers the requests of one connection, as each of them asks it to."""

    def __init__(self, link):
        self.link, self.file = link, link.makefile("rb")

    def serve(self):
        """Take one request after the other, until there is no other or one wants to be hung up on."""
        with self.link, self.file:
            while line := self.file.readline().decode("latin-1").rstrip("\r\n"):
                self.command, self.path, _ = line.split(" ")
                self.fields = []
                while line := self.file.readline().decode("latin-1").rstrip("\r\n"):
                    name, _, value = line.partition(":")
                    self.fields.append((name, value.strip()))
                self.named = {name.lower(): value for name, value in self.fields}
                if self.perform(self.file.read(int(self.named.get("content-length", 0)))) == "drop":
                    break

    def perform(self, body):
        order = json.loads(body) if body.startswith(b"{") else {}
        if self.path == os.environ.get("HEALTH_PATH"):
            with open("checks", "a") as checks:  # noqa: PTH123 - pathlib takes as long to load as this program
                checks.write(".")
            self.answer(500 if os.path.exists("ill") else 200, {}, b"")  # noqa: PTH110
            return None
        state["calls"] += 1
        print(f"FC Invoke Start RequestId: {self.named.get('x-fc-request-id')}", flush=True)
        print(f"{self.command} {self.path} {state['calls']}", flush=True)
        if order.get("exit"):
            os._exit(order["exit"])
        if order.get("drop"):
            return "drop"
        if order.get("eat"):
            state["eaten"] = bytearray(b"x") * (order["eat"] * 1024 * 1024)
        if order.get("sleep"):
            time.sleep(order["sleep"])
        if order.get("meet"):
            barrier.wait(10)
        status = int(os.environ.get("STATUS_OF" + self.path.replace("/", "_").replace("-", "_"), 0))
        if "echo" in order:
            content = order["echo"].encode()
        else:
            seen = {"method": self.command, "path": self.path, "headers": self.fields}
            seen["body"] = body.decode()
            seen["environment"] = {name: os.environ.get(name) for name in VARIABLES}
            seen["cwd"], seen["pid"], seen["arguments"] = os.getcwd(), os.getpid(), sys.argv[1:]  # noqa: PTH109
            content = json.dumps(seen).encode()
        if "pieces" in order:
            self.stream(order)
        else:
            self.answer(status or order.get("status", 200), order.get("headers", {}), content)
        return None

    def answer(self, status, headers, content):
        self.send_head(status, {**headers, "Content-Length": len(content)}, b"" if self.command == "HEAD" else content)

    def send_head(self, status, headers, content=b""):
        lines = [f"HTTP/1.1 {status} Told", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self.link.sendall("\r\n".join(lines).encode("latin-1") + content)

    def stream(self, order):
        self.send_head(200, {"Transfer-Encoding": "chunked"})
        for number in range(order["pieces"]):
            piece = b"piece %d\n" % number
            self.link.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            if order.get("exit_after") == number:
                os._exit(3)
            if order.get("wait_for"):
                deadline = time.monotonic() + 20
                while not os.path.exists(order["wait_for"]) and time.monotonic() < deadline:  # noqa: PTH110
                    time.sleep(0.01)
        print("streamed", flush=True)
        self.link.sendall(b"0\r\n\r\n")


barrier = threading.Barrier(3)
if os.environ.get("DELAY"):
    time.sleep(float(os.environ["DELAY"]))
print("listening soon", flush=True)
if os.environ.get("NEVER"):
    threading.Event().wait()
port = int(os.environ.get("FIXED_PORT") or os.environ["FC_SERVER_PORT"])
with socket.create_server(("127.0.0.1", port), backlog=64) as server:
    while True:
        connection = Connection(server.accept()[0])
        threading.Thread(target=connection.serve, daemon=True).start()
