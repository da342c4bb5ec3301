"""Two peers that are no emulators of a whole cloud: ElasticMQ, a queue server on the JVM, and the workflows of dbos.

ElasticMQ keeps messages in memory. dbos is a library: its ten steps run in the process that asks, without HTTP, and
each is recorded in SQLite, as the events of an execution are here.
"""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.load import answered, requests_per_s
from benchmarks.peer_tools import INSTALLED, ask, child, end, sqs
from benchmarks.server import free_port, ordinary_environment

ELASTICMQ = "1.6.11"
DBOS = "dbos==3.4.0"

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>bench</groupId><artifactId>bench</artifactId><version>1</version><dependencies><dependency>
<groupId>org.elasticmq</groupId><artifactId>elasticmq-server_2.13</artifactId><version>{ELASTICMQ}</version>
</dependency></dependencies></project>
"""
CONFIGURATION = """include classpath("application.conf")
node-address {{ protocol = http, host = localhost, port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-port = {port}, bind-hostname = "127.0.0.1", sqs-limits = strict }}
rest-stats {{ enabled = false }}
"""
FLOW = """import statistics, sys, time
from dbos import DBOS

DBOS(config={"name": "bench", "system_database_url": "sqlite:///" + sys.argv[1], "log_level": "ERROR",
             "run_admin_server": False})

@DBOS.step()
def step(number):
    return number

@DBOS.workflow()
def flow():
    for number in range(10):
        step(number)

DBOS.launch()
flow()
for line in sys.stdin:
    spent = []
    for _ in range(int(line)):
        began = time.perf_counter()
        flow()
        spent.append(time.perf_counter() - began)
    print(statistics.median(spent) * 1000, flush=True)
"""


class ElasticMq:
    """A queue server with one queue, started from the jar files of a registry."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self._port = free_port()
        configuration = folder / "elasticmq.conf"
        configuration.write_text(CONFIGURATION.format(port=self._port), encoding="ascii")
        command = ["java", f"-Dconfig.file={configuration}", "-cp", f"{jars}/*", "org.elasticmq.server.Main"]
        self._child = child(command, folder, dict(os.environ))
        try:
            answered(self._port, lambda: ask(self._port, sqs("CreateQueue", QueueName="q")), seconds=120)
        except BaseException:
            self.close()
            raise

    def sends_per_s(self, calls: int) -> float:
        """Return how many messages a second it takes from 16 connections."""
        url = f"http://127.0.0.1:{self._port}/000000000000/q"
        request = sqs("SendMessage", QueueUrl=url, MessageBody="x" * 100)
        return requests_per_s(self._port, request, connections=16, calls=calls)

    def close(self) -> None:
        """End the server."""
        end(self._child)


class DurableSteps:
    """A process that runs workflows of ten steps whenever it is told how many."""

    def __init__(self, python: Path, folder: Path) -> None:
        program = folder / "flow.py"
        program.write_text(FLOW, encoding="ascii")
        self._child = subprocess.Popen(
            [python, program, folder / "steps.db"],
            cwd=folder,
            env=ordinary_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def flow_ms(self, flows: int) -> float:
        """Return the median time of a workflow in ms."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{flows}\n")
        self._child.stdin.flush()
        return float(self._child.stdout.readline())

    def close(self) -> None:
        """End the process."""
        end(self._child)


def installed_elasticmq() -> Path | None:
    """Return the folder of the jar files, None without Maven and Java."""
    maven = shutil.which("mvn")
    if maven is None or shutil.which("java") is None:
        print("benchmarks: no Maven or no Java here, ElasticMQ is left out", file=sys.stderr)
        return None
    folder = INSTALLED / "elasticmq"
    jars = folder / "jars"
    if not jars.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(POM, encoding="ascii")
        plain = ("-q", "-B", "-Dstyle.color=never")
        command = [maven, *plain, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        subprocess.run(command, cwd=folder, check=True)
    return jars


def installed_dbos() -> Path:
    """Return the Python of an environment that has dbos."""
    folder = INSTALLED / "dbos"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", DBOS], check=True)
    return python
