"""A custom runtime for tests: an HTTP server whose answers are told by the request, or by variables at its start."""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

VARIABLES = ("FC_SERVER_PORT", "FC_CUSTOM_LISTEN_PORT", "FC_FUNC_CODE_PATH", "ALIBABA_CLOUD_ACCESS_KEY_ID", "OWN")
state = {"calls": 0}


class Handler(BaseHTTPRequestHandler):
    """Answers what it is asked to."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *parts):
        """Keep quiet."""

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        order = json.loads(body) if body.startswith(b"{") else {}
        if self.path == os.environ.get("HEALTH_PATH"):
            with Path("checks").open("a") as checks:
                checks.write(".")
            self.answer(500 if Path("ill").exists() else 200, {}, b"")
            return
        state["calls"] += 1
        print(f"FC Invoke Start RequestId: {self.headers.get('x-fc-request-id')}", flush=True)
        print(f"{self.command} {self.path} {state['calls']}", flush=True)
        if order.get("exit"):
            os._exit(order["exit"])
        if order.get("drop"):
            self.close_connection = True
            return
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
            seen = {"method": self.command, "path": self.path, "headers": list(self.headers.items())}
            seen["body"] = body.decode()
            seen["environment"] = {name: os.environ.get(name) for name in VARIABLES}
            seen["cwd"], seen["pid"], seen["arguments"] = str(Path.cwd()), os.getpid(), sys.argv[1:]
            content = json.dumps(seen).encode()
        if "pieces" in order:
            self.stream(order)
            return
        self.answer(status or order.get("status", 200), order.get("headers", {}), content)

    def answer(self, status, headers, content):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def stream(self, order):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(order["pieces"]):
            piece = b"piece %d\n" % number
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            if order.get("exit_after") == number:
                os._exit(3)
            if order.get("wait_for"):
                deadline = time.monotonic() + 20
                while not Path(order["wait_for"]).exists() and time.monotonic() < deadline:
                    time.sleep(0.01)
        print("streamed", flush=True)
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = handle_any


barrier = threading.Barrier(3)
if os.environ.get("DELAY"):
    time.sleep(float(os.environ["DELAY"]))
print("listening soon", flush=True)
if os.environ.get("NEVER"):
    threading.Event().wait()
ThreadingHTTPServer.request_queue_size = 64
port = int(os.environ.get("FIXED_PORT") or os.environ["FC_SERVER_PORT"])
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
