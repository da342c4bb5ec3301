"""One message pushed to twenty HTTP subscribers."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.harness import Row
from benchmarks.server import Connection, Server

SUBSCRIBERS = 20


class Pushes:
    """The row, around one server with a topic whose subscribers are threads of this process."""

    def __init__(self) -> None:
        self._arrived = arrived = threading.Semaphore(0)

        class Receiver(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                arrived.release()
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        class Patient(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128  # the default of 5 makes the system drop connections that come at once

        self._receiver = Patient(("127.0.0.1", 0), Receiver)
        threading.Thread(target=self._receiver.serve_forever, name="receiver", daemon=True).start()
        self._server = Server()
        endpoint = f"http://127.0.0.1:{self._receiver.server_address[1]}/"
        with Connection(self._server.port) as connection:
            connection.ask(self._server.mns("PUT", "/topics/news", b"<Topic/>"))
            for number in range(SUBSCRIBERS):
                body = f"<Subscription><Endpoint>{endpoint}</Endpoint></Subscription>".encode("ascii")
                status, answer = connection.ask(self._server.mns("PUT", f"/topics/news/subscriptions/s{number}", body))
                if status != 201:
                    raise RuntimeError(answer)
        self._delivered_ms()  # the process that signs is there from now on

    def close(self) -> None:
        """End server and receiver."""
        self._server.stop()
        self._receiver.shutdown()
        self._receiver.server_close()

    def rows(self) -> list[Row]:
        """Return the row."""
        return [
            Row(
                name=f"push of one message to {SUBSCRIBERS} HTTP subscribers, until the last has it",
                unit="ms",
                measure=self._delivered_ms,
                goal=50,
            ),
        ]

    def _publish(self) -> None:
        with Connection(self._server.port) as connection:
            body = b"<Message><MessageBody>hello</MessageBody></Message>"
            status, answer = connection.ask(self._server.mns("POST", "/topics/news/messages", body))
        if status != 201:
            raise RuntimeError(answer)

    def _await_all(self) -> None:
        for _ in range(SUBSCRIBERS):
            if not self._arrived.acquire(timeout=30):
                raise RuntimeError("a push did not arrive")

    def _delivered_ms(self) -> float:
        began = time.perf_counter()
        self._publish()
        self._await_all()
        return (time.perf_counter() - began) * 1000
