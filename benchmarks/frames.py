"""How many frames a second Chromium draws at the replay of a thousand events, by the browser's own trace.

``python -m benchmarks.frames`` starts an emulator and a headless browser, plays the history at 250 events a second, and
prints frames drawn, frames a second, the longest pause between two frames, and the processor time that the page's
thread takes for a frame, which a busy machine does not change: at 60 frames a second there are 16.7 ms for it. For the
small graph of a loop and for a large one of forty steps. Nothing is asserted.
"""

import json
import sys
from itertools import pairwise
from typing import Any
from urllib.request import urlopen

import websocket
from selenium.webdriver import Chrome

from emulator.testing import Emulator
from tests.console.browser import MISSING, chromium, resize

EVENTS = 1_000

_CATEGORIES = [
    *("disabled-by-default-devtools.timeline.frame", "devtools.timeline.frame"),
    *("devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"),
]
_STEPS = "".join(f"  - {{type: pass, name: step{each}}}\n" for each in range(40))
_FLOWS = {
    "a loop of 1 step": ("  - {type: pass, name: inner}\n", 250),
    "a loop of 40 steps": (_STEPS, 7),
}
_FLOW = (
    "version: v1\ntype: flow\nsteps:\n- type: foreach\n  name: rounds\n"
    "  iterationMapping: {{collection: $.items, item: one}}\n  steps:\n{steps}"
)
_PLAY = """
const done = arguments[0];
const { last } = document.getElementById("scrubber").dataset;
document.getElementById("speed").insertAdjacentHTML("beforeend", "<option value=250 selected>250/s</option>");
document.getElementById("speed").value = "250";
const at = () => Number(document.getElementById("at-event").textContent);
document.querySelector("[data-move=p]").click();
const began = performance.now();
const look = () => {
  if (at() < Number(last)) return requestAnimationFrame(look);
  done([Number(last), performance.now() - began]);
};
requestAnimationFrame(look);
"""


def main() -> int:
    """Replay both and print the figures."""
    if MISSING:
        print(f"{' and '.join(MISSING)} missing: python3 dev.py browser", file=sys.stderr)
        return 1
    print(f"{'':22}{'events':>8}{'seconds':>9}{'drawn':>7}{'a second':>10}{'longest ms':>12}{'CPU ms a frame':>16}")
    with Emulator() as localyun, chromium() as browser:
        resize(browser, 1440, 900)
        browser.set_script_timeout(120)
        browser.get(localyun.endpoint + localyun.api.admin("POST", "console-link")["path"])
        for number, (name, (steps, rounds)) in enumerate(_FLOWS.items()):
            flow = localyun.flow(f"flow{number}", _FLOW.format(steps=steps))
            flow.start({"items": list(range(rounds))}, name="long").wait()
            browser.get(f"{localyun.endpoint}/_localyun/console/flows/flow{number}/executions/long?at=1")
            trace = _Trace(browser)
            events, spent_ms = browser.execute_async_script(_PLAY)
            _print(name, events, spent_ms, trace.end())
    return 0


class _Trace:
    """The browser's own trace of what it draws, taken over the protocol of its developer tools."""

    def __init__(self, browser: Chrome) -> None:
        address = browser.capabilities["goog:chromeOptions"]["debuggerAddress"]
        with urlopen(f"http://{address}/json/version", timeout=20) as answer:
            socket = json.load(answer)["webSocketDebuggerUrl"]
        self._connection = websocket.create_connection(socket, timeout=60, suppress_origin=True)
        self._send("Tracing.start", traceConfig={"includedCategories": _CATEGORIES}, transferMode="ReportEvents")

    def end(self) -> list[dict[str, Any]]:
        """End the trace and return its events."""
        self._send("Tracing.end")
        events: list[dict[str, Any]] = []
        while (message := json.loads(self._connection.recv())).get("method") != "Tracing.tracingComplete":
            if message.get("method") == "Tracing.dataCollected":
                events += message["params"]["value"]
        self._connection.close()
        return events

    def _send(self, method: str, **parameters: Any) -> None:
        self._connection.send(json.dumps({"id": 1, "method": method, "params": parameters}))


def _print(name: str, events: int, spent_ms: float, trace: list[dict[str, Any]]) -> None:
    drawn = sorted(each["ts"] / 1000 for each in trace if each["name"] == "DrawFrame")
    pauses = [later - earlier for earlier, later in pairwise(drawn)]
    rate = len(drawn) / (spent_ms / 1000)
    figures = f"{spent_ms / 1000:>9.1f}{len(drawn):>7}{rate:>10.1f}{max(pauses, default=0):>12.1f}"
    figures += f"{_used_ms(trace) / max(1, len(drawn)):>16.2f}"
    print(f"{name:22}{events:>8}{figures}")


def _used_ms(trace: list[dict[str, Any]]) -> float:
    """Return the processor time of the busiest main thread of a page, which is that of the one shown."""
    mains = {
        (each["pid"], each["tid"])
        for each in trace
        if each["name"] == "thread_name" and each["args"].get("name") == "CrRendererMain"
    }
    used = dict.fromkeys(mains, 0.0)
    for each in trace:
        thread = each["pid"], each["tid"]
        if thread in used and each["name"] in {"RunTask", "ThreadControllerImpl::RunTask"}:
            used[thread] += each.get("tdur", 0) / 1000
    return max(used.values(), default=0.0)


if __name__ == "__main__":
    sys.exit(main())
