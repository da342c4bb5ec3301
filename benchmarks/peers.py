"""Other programs doing the nearest thing they have, in the same run.

ministack and moto (AWS), ElasticMQ, serverless-offline and dbos are installed on first use into ``.bench`` beside the
benchmarks, and only when the peers are asked for. None verifies signatures, and none but dbos keeps what it
acknowledges across a crash, so they have less to do for each request.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from base64 import b64encode
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from io import BytesIO
from pathlib import Path

from benchmarks.engines import DurableSteps, ElasticMq, installed_dbos, installed_elasticmq
from benchmarks.flows import STEPS, create_flow, ten_steps_ms
from benchmarks.functions import ECHO
from benchmarks.harness import Row
from benchmarks.load import answered, requests_per_s
from benchmarks.mns import BODY
from benchmarks.peer_tools import (
    INSTALLED,
    ask,
    aws,
    child,
    end,
    get,
    gets_ms,
    sqs,
    start_ms,
    states,
)
from benchmarks.server import SERVICE, Connection, Server, checked, free_port, ordinary_environment, p50_ms

MINISTACK = "ministack==1.5.33"
SERVERLESS = ("serverless@3.40.0", "serverless-offline@13.9.0")

SENDS = 1500
FLOWS = 10
STARTS_IN_S = 120
"""How long a peer may take to start on a busy machine."""

NODE_FUNCTION = "exports.handler = async () => ({ statusCode: 200, body: 'ok' });\n"
OFFLINE = """
service: bench
frameworkVersion: '3'
provider: {{name: aws, runtime: nodejs20.x}}
plugins: [serverless-offline]
custom:
  serverless-offline: {{noPrependStageInUrl: true, httpPort: {port}, lambdaPort: {inner}}}
functions:
  web: {{handler: index.handler, events: [{{httpApi: 'GET /web'}}]}}
"""
MACHINE = {
    "StartAt": "s0",
    "States": {
        f"s{number}": {
            "Type": "Pass",
            "Result": number,
            "ResultPath": f"$.n{number}",
            **({"End": True} if number == STEPS - 1 else {"Next": f"s{number + 1}"}),
        }
        for number in range(STEPS)
    },
}
ROLE = "arn:aws:iam::000000000000:role/r"


class Peers:
    """The rows, around one emulator and one ministack; serverless-offline needs Node.js and is left out without it."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the children, each by its own id, and remove the folder."""
        self._closing.close()

    def _start_all(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="localyun-bench-peers-"))
        self._closing.callback(shutil.rmtree, self._folder)
        self._functions = self._folder / "functions"
        self._write_functions()
        self._server = Server(self._functions)
        self._closing.callback(self._server.stop)
        self._ministack = _installed_ministack()
        self._port = self._serve(self._start_ministack, self._prepare_ministack)
        self._moto_port = self._serve(self._start_moto, lambda port: ask(port, sqs("CreateQueue", QueueName="q")))
        self._offline = _installed_offline()
        if self._offline is not None:
            self._web = self._serve(self._start_offline, lambda port: get(port, "/web"))
        jars = installed_elasticmq()
        self._elasticmq = self._closing.enter_context(closing(ElasticMq(jars, self._folder))) if jars else None
        self._steps = self._closing.enter_context(closing(DurableSteps(installed_dbos(), self._folder)))
        with Connection(self._server.port) as connection:
            checked(connection.ask(self._server.mns("PUT", "/queues/peers")), 201)
            create_flow(self._server, connection)

    def _serve(self, start: "Callable[[int], subprocess.Popen[bytes]]", ask: Callable[[int], object]) -> int:
        """Start a server, to be ended at the end, and return its port once *ask* gets an answer there."""
        port = free_port()
        self._closing.callback(end, start(port))
        answered(port, lambda: ask(port), STARTS_IN_S)
        return port

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken; the reference is the peer."""
        sends = partial(Row, name="SendMessage, 16 connections", unit="requests/s", measure=self._sends_per_s)
        call = partial(Row, name="warm Python function, p50", unit="ms", measure=self._calls_ms)
        flow = partial(
            Row,
            name="flow of ten pass steps, start to end",
            unit="ms",
            measure=lambda: ten_steps_ms(self._server, FLOWS),
        )
        start = partial(Row, name="start to first answered service call", unit="ms", measure=self._start_ms)
        rows = [
            sends(
                reference=lambda: self._sqs_sends_per_s(self._port, "000000000000", SENDS // 5),
                reference_name="ministack's SQS SendMessage",
            ),
            sends(
                reference=lambda: self._sqs_sends_per_s(self._moto_port, "123456789012", SENDS // 20),
                reference_name="moto server's SQS SendMessage",
            ),
            call(reference=self._peer_calls_ms, reference_name="ministack's Lambda Invoke"),
            flow(reference=self._peer_flow_ms, reference_name="ministack's Step Functions"),
            flow(reference=lambda: self._steps.flow_ms(FLOWS), reference_name="dbos, ten steps in process, SQLite"),
            start(reference=self._ministack_start_ms, reference_name="ministack"),
        ]
        if (elasticmq := self._elasticmq) is not None:
            rows.append(
                sends(reference=lambda: elasticmq.sends_per_s(SENDS), reference_name="ElasticMQ's SQS SendMessage")
            )
        if self._offline is not None:
            trigger = Row(
                name="warm Node.js function behind an HTTP trigger, p50",
                unit="ms",
                measure=lambda: gets_ms(self._server.port, "/2016-08-15/proxy/bench/web/"),
                reference=lambda: gets_ms(self._web, "/web"),
                reference_name="serverless-offline",
            )
            rows += [trigger, start(reference=self._offline_start_ms, reference_name="serverless-offline")]
        return rows

    def _write_functions(self) -> None:
        python, web = self._functions / "bench" / "echo", self._functions / "bench" / "web"
        for folder in (python, web):
            folder.mkdir(parents=True)
        (python / "index.py").write_text(ECHO, encoding="ascii")
        (web / "index.js").write_text(
            "exports.handler = (request, response) => { response.setStatusCode(200); response.send('ok'); };\n",
            encoding="ascii",
        )
        (web / "function.yml").write_text(
            "runtime: nodejs20\ntriggers:\n"
            "  - {triggerName: web, triggerType: http, triggerConfig: {authType: anonymous, methods: [GET]}}\n",
            encoding="ascii",
        )

    def _sends_per_s(self) -> float:
        request = self._server.mns("POST", "/queues/peers/messages", BODY)
        return requests_per_s(self._server.port, request, connections=16, calls=SENDS)

    def _calls_ms(self) -> float:
        path = "/2016-08-15/services/bench/functions/echo/invocations"
        return p50_ms(self._server.port, self._server.fc("POST", path, b'{"a":1}'))

    def _start_ms(self) -> float:
        with Server(self._functions, ask=SERVICE) as server:
            return server.start_s * 1000

    def _start_ministack(self, port: int) -> "subprocess.Popen[bytes]":
        environment = ordinary_environment() | {"GATEWAY_PORT": str(port), "MINISTACK_HOST": "127.0.0.1"}
        return child([str(self._ministack)], self._folder, environment)

    def _prepare_ministack(self, port: int) -> None:
        package = BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("index.py", ECHO)
        function = {
            "FunctionName": "echo",
            "Runtime": "python3.11",
            "Role": ROLE,
            "Handler": "index.handler",
            "Code": {"ZipFile": b64encode(package.getvalue()).decode("ascii")},
        }
        machine = {"name": "ten", "definition": json.dumps(MACHINE), "roleArn": ROLE}
        with Connection(port) as connection:
            checked(connection.ask(sqs("CreateQueue", QueueName="q")), 200)
            checked(connection.ask(aws("lambda", "/2015-03-31/functions", json.dumps(function))), 201)
            self._machine = json.loads(checked(connection.ask(states("CreateStateMachine", machine)), 200))

    def _sqs_sends_per_s(self, port: int, account: str, calls: int) -> float:
        url = f"http://127.0.0.1:{port}/{account}/q"
        request = sqs("SendMessage", QueueUrl=url, MessageBody="x" * 100)
        return requests_per_s(port, request, connections=16, calls=calls)

    def _peer_calls_ms(self) -> float:
        return p50_ms(self._port, aws("lambda", "/2015-03-31/functions/echo/invocations", '{"a":1}'))

    def _peer_flow_ms(self) -> float:
        spent = []
        arn = self._machine["stateMachineArn"]
        with Connection(self._port) as connection:
            for _ in range(FLOWS):
                began = time.perf_counter()
                started = connection.ask(states("StartExecution", {"stateMachineArn": arn, "input": "{}"}))
                execution = json.loads(checked(started, 200))["executionArn"]
                watch = states("DescribeExecution", {"executionArn": execution})
                while json.loads(checked(connection.ask(watch), 200))["status"] == "RUNNING":
                    time.sleep(0.001)
                spent.append(time.perf_counter() - began)
        return statistics.median(spent) * 1000

    def _ministack_start_ms(self) -> float:
        port = free_port()
        return start_ms(lambda: self._start_ministack(port), port, lambda: ask(port, sqs("ListQueues")))

    def _start_moto(self, port: int) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        return child(command, self._folder, ordinary_environment())

    def _start_offline(self, port: int) -> "subprocess.Popen[bytes]":
        project = Path(tempfile.mkdtemp(dir=self._folder))
        (project / "serverless.yml").write_text(OFFLINE.format(port=port, inner=free_port()), encoding="ascii")
        (project / "index.js").write_text(NODE_FUNCTION, encoding="ascii")
        (project / "node_modules").symlink_to(INSTALLED / "node_modules")
        environment = ordinary_environment() | {
            "SLS_TELEMETRY_DISABLED": "1",
            "SLS_NOTIFICATIONS_MODE": "off",
            "SLS_INTERACTIVE_SETUP_ENABLE": "false",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }
        return child([str(self._offline), "offline"], project, environment)

    def _offline_start_ms(self) -> float:
        port = free_port()
        return start_ms(lambda: self._start_offline(port), port, lambda: get(port, "/web"))


def _installed_ministack() -> Path:
    program = INSTALLED / "venv" / ("Scripts/ministack.exe" if os.name == "nt" else "bin/ministack")
    if not program.exists():
        venv.create(INSTALLED / "venv", with_pip=True)
        python = str(program.with_name("python.exe" if os.name == "nt" else "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", MINISTACK], check=True)
    return program


def _installed_offline() -> Path | None:
    npm = shutil.which("npm")
    if npm is None:
        print("benchmarks: no npm here, serverless-offline is left out", file=sys.stderr)
        return None
    program = INSTALLED / "node_modules" / ".bin" / "serverless"
    if not program.exists():
        command = [npm, "install", "--prefix", str(INSTALLED), "--no-audit", "--no-fund", "--silent", *SERVERLESS]
        subprocess.run(command, check=True)
    return program
