"""The jobs that are done in each place, run there by the place's own Python: ``jobs.py SPECIFICATION``.

The specification is a JSON file: ``command`` (words that begin a localyun command), ``python``, ``state``, ``node``
(empty, or why there is no Node.js), ``plugin`` (the same for pytest), ``deployed`` (functions of the template that can
run here). The working folder is the project. Each job prints one line of JSON; nothing but the standard library is
needed.
"""

import json
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT_S = 120
SKIPS = 60
"""How often time is skipped at most while the tutorial runs: it polls a few times and then ends."""


class Failed(Exception):
    """A job did not do what it should; the text has what was printed."""


class Left(Exception):
    """A job cannot be done here; the text says why."""


class Site:
    """A place as its jobs see it."""

    def __init__(self, specification: dict[str, Any]) -> None:
        self.command: list[str] = specification["command"]
        self.python: str = specification["python"]
        self.state = ["--state", specification["state"]]
        self.without_node: str = specification["node"]
        self.without_plugin: str = specification["plugin"]
        self.deployed: list[str] = specification["deployed"]

    def localyun(self, *words: str) -> str:
        """Run a command to its end and return what it printed.

        Raises: Failed.
        """
        return run([*self.command, *words, *self.state])

    def returned(self, function: str) -> Any:
        """Call a function and return its answer.

        Raises: Failed.
        """
        text = self.localyun("invoke", function)
        try:
            return json.loads(text)
        except ValueError as error:
            raise Failed(f"invoke {function} printed {text!r}") from error


def run(words: list[str]) -> str:
    """Run a program to its end and return what it printed.

    Raises: Failed.
    """
    done = subprocess.run(
        words, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=LIMIT_S, check=False
    )
    if done.returncode:
        raise Failed(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}".strip())
    return done.stdout


def start(site: Site) -> None:
    """Start the emulator in the background on free ports."""
    site.localyun("start", "-d", "--port", "0", "--https-port", "0")


def python_function(site: Site) -> None:
    """Call a function that imports what is installed beside the emulator, and a module of the project."""
    answer = site.returned("python-place")
    if answer != {"modules": ["flask", "mns", "yaml"], "shared": "of the project", "file": "written"}:
        raise Failed(f"it returned {answer}")


def node_function(site: Site) -> None:
    """Call two instances' worth of Node.js: the second is one that was started ahead."""
    if site.without_node:
        raise Left(site.without_node)
    for function in ("node-place", "node-other"):
        answer = site.returned(function)
        if answer.get("project") != "of the project" or answer.get("home") not in ("of the home folder", "none"):
            raise Failed(f"{function} returned {answer}")


def tutorial(site: Site) -> None:
    """Run the polling tutorial, whose waits are skipped."""
    words = [*site.command, "tutorial", "run", "poll-for-task-status", *site.state]
    with Path("tutorial.out").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT)
        try:
            for _ in range(SKIPS):
                if process.poll() is not None:
                    break
                subprocess.run(
                    [*site.command, "skip", "--timeout", "5s", "--limit", "10m", *site.state],
                    capture_output=True, check=False, timeout=LIMIT_S,
                )  # fmt: skip
            code = process.wait(timeout=LIMIT_S)
        finally:
            process.kill()
        output.seek(0)
        if code:
            raise Failed(f"exit code {code}\n{output.read()}")


def deploy(site: Site) -> None:
    """Deploy a template whose code is uploaded, and call what it made."""
    site.localyun("deploy", "template.yml")
    for function in site.deployed:
        answer = site.returned(f"places/{function}")
        if answer != {"uploaded": True}:
            raise Failed(f"{function} returned {answer}")


def plugin(site: Site) -> None:
    """Run a test that asks for the fixture."""
    if site.without_plugin:
        raise Left(site.without_plugin)
    run([site.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_place.py"])


def again(site: Site) -> None:
    """Stop and start again: what was deployed is there."""
    site.localyun("stop")
    start(site)
    if site.returned("places/deployed-python") != {"uploaded": True}:
        raise Failed("what was deployed is not there after the second start")


def _not_begun(site: Site) -> None:
    raise Left("nothing was started")


JOBS: dict[str, Callable[[Site], None]] = {
    "start": start, "python": python_function, "node": node_function, "deploy": deploy, "tutorial": tutorial,
    "plugin": plugin, "again": again,
}  # fmt: skip


def main(path: str) -> int:
    """Do each job and print its outcome; without a first start there is nothing more to do."""
    site = Site(json.loads(Path(path).read_text(encoding="utf-8")))
    begun = True
    for name, job in JOBS.items():
        outcome, text = "ok", ""
        try:
            (job if begun else _not_begun)(site)
        except Left as reason:
            outcome, text = "left out", str(reason)
        except Failed as failure:
            outcome, text = "failed", str(failure)
        except Exception:
            outcome, text = "failed", traceback.format_exc()
        begun = begun and not (name == "start" and outcome == "failed")
        print(json.dumps({"job": name, "outcome": outcome, "text": text}), flush=True)
    subprocess.run([*site.command, "stop", *site.state], capture_output=True, check=False, timeout=LIMIT_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
