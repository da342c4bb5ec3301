"""The moving picture of the site's first page: ``python -m tools.moving_picture`` makes it again.

An emulator with a seed and a frozen clock runs a flow by the commands of the picture. Their output and the graph of the
flow after each event become the frames of one SVG, which needs no script. Two texts differ from run to
run and are replaced: the name of an explored execution, and the address of the console, which is left out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from gettext import translation
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import NamedTuple
from xml.sax.saxutils import escape

from emulator.cli.output import DOMAIN, FOLDER
from emulator.drawing.execution_tree import Execution
from emulator.drawing.picture import picture
from emulator.drawing.text_width import cells
from emulator.kernel.system import own_command
from emulator.testing import Emulator, Localyun

ROOT = Path(__file__).resolve().parent.parent
FILES = {"en": ROOT / "docs" / "moving", "zh": ROOT / "docs" / "zh-CN" / "moving"}
"""Names of the pictures without their suffixes, by language."""

FLOW = """\
version: v1
type: flow
steps:
  - {type: task, name: Pay, resourceArn: 'acs:fc:::services/shop/functions/pay'}
  - {type: wait, name: Change, duration: 86400}
  - type: parallel
    name: Reserve
    branches:
      - steps:
          - {type: task, name: Lamp, resourceArn: 'acs:fc:::services/shop/functions/reserve'}
      - steps:
          - type: task
            name: Gift
            resourceArn: 'acs:fc:::services/shop/functions/reserve'
            catch: [{errors: [FnF.ALL], goto: NoGift}]
          - {type: pass, name: NoGift}
  - {type: succeed, name: Shipped}
"""
"""A flow that ships an order: without the gift it can be shipped, without the lamp it cannot."""

STOCK = [
    {"function": "shop/pay", "answers": [{"return": {"paid": True}}]},
    {"function": "shop/reserve", "answers": [{"return": {"reserved": True}}, {"error": "SoldOut"}]},
]
"""Mocks of the functions: a payment succeeds, and so does one reservation; the next is sold out."""

CAPTIONS = {
    "en": (
        "An execution is drawn live",
        "The clock jumps over a day",
        "Every order is tried",
        "The failing one runs again",
    ),
    "zh": ("实时画出一次执行", "时钟跳过一天", "尝试每一种顺序", "重放失败的顺序"),
}
_OF_THE_CONSOLE = re.compile("http:|works once|\u94fe\u63a5\u53ea\u80fd\u7528\u4e00\u6b21")
_CELL, _LINE = 7.3, 18.0
_EVENT_S, _LINE_S, _REST_S = 0.25, 0.5, 2.5
_WIDE, _NARROW = (960.0, 500.0), (480.0, 800.0)


class Shown(NamedTuple):
    """A scene of the picture: a command with its output, and the graphs during it, each a whole SVG."""

    command: str
    printed: Sequence[str]
    graphs: Sequence[str]


def scenes(language: str) -> list[Shown]:
    """Run the commands and return the scenes."""
    options = ["--seed", "7", "--start-at", "2027-01-01T09:00:00Z", "--freeze"]
    with TemporaryDirectory() as folder, Emulator(options=options) as localyun:
        Path(folder, "order.yml").write_text(FLOW, encoding="utf-8")
        Path(folder, "stock.json").write_text(json.dumps(STOCK), encoding="utf-8")

        def run(command: str) -> list[str]:
            locale = "zh_CN.UTF-8" if language == "zh" else "C"
            environment = {**os.environ, **localyun.env, "LANGUAGE": "", "LC_ALL": locale, "PYTHONUTF8": "1"}
            done = subprocess.run(  # noqa: S603 - commands of this file
                own_command(*command.split()[1:]), cwd=folder, encoding="utf-8",
                env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False,
            )  # fmt: skip
            text = re.sub(r"explored-\d+", "explored-1", done.stderr + done.stdout)
            return [line.rstrip() for line in text.splitlines() if not _OF_THE_CONSOLE.search(line)]

        run("localyun flow create order order.yml")
        for each in STOCK:
            localyun.api.admin("POST", "mocks", each)
        start = "localyun flow start order --name first"
        began = run(start)
        localyun.settle("60s")  # the command does not wait, and on a busy machine the pause may not have begun
        before = graphs(localyun, "first", language)
        skip = "localyun skip --execution order/first --limit 2d"
        skipped = run(skip)
        after = graphs(localyun, "first", language)[len(before) :]
        localyun.api.admin("DELETE", "mocks")
        explore = "localyun explore order --order call --mocks stock.json"
        explored = run(explore)
        again = "localyun explore order --order call --mocks stock.json --schedule 0:1"
        replayed = run(again)
        executions = localyun.api.fnf("ListExecutions", FlowName="order")["Executions"]
        (name,) = [each["Name"] for each in executions if each["Name"] != "first"]
        failed = graphs(localyun, name, language)
    return [
        Shown(start, began, before), Shown(skip, skipped, after),
        Shown(explore, explored, after[-1:]), Shown(again, replayed, failed),
    ]  # fmt: skip


def graphs(localyun: Localyun, name: str, language: str) -> list[str]:
    """Return the graph of an execution after each event that changes it."""
    say = translation(DOMAIN, FOLDER, ["zh_CN"]).gettext if language == "zh" else str
    history = localyun.api.fnf("GetExecutionHistory", FlowName="order", ExecutionName=name, Limit=100)
    execution, drawn = Execution(), list[str]()
    for event in history["Events"]:
        execution.add(event)
        svg = picture(FLOW, "order", execution, "svg", say)
        if not drawn or drawn[-1] != svg:
            drawn.append(svg)
    return drawn


class _Frames:
    """The frames of the picture, each shown from one time to another."""

    def __init__(self) -> None:
        self.now = 0.0
        self.parts: list[tuple[float, float, str]] = []

    def show(self, begin: float, end: float, svg: str) -> None:
        self.parts.append((begin, end, svg))

    def render(self) -> tuple[str, str]:
        """Return the CSS rules and the elements."""
        spans = sorted({(begin, end) for begin, end, _ in self.parts})
        rules = [_rule(number, begin, end, self.now) for number, (begin, end) in enumerate(spans)]
        number_of = {span: number for number, span in enumerate(spans)}
        return "".join(rules), "\n".join(
            f'<g class="f f{number_of[begin, end]}">{svg}</g>' for begin, end, svg in self.parts
        )


def _rule(number: int, begin: float, end: float, whole: float) -> str:
    first, last = 100 * begin / whole, 100 * end / whole
    stops = (
        ("0%{opacity:0}" if first else "")
        + f"{first:.3f}%{{opacity:1}}"
        + (f"{last:.3f}%{{opacity:0}}" if last < 100 else "")
    )
    return f"@keyframes k{number}{{{stops}}}.f{number}{{animation:k{number} {whole:.1f}s step-end infinite}}"


def moving(parts: Sequence[Shown], language: str, size: tuple[float, float]) -> str:
    """Return the picture: the graph beside the terminal, or above it in the narrow form."""
    width, height = size
    narrow = width < height
    box = (0.0, 0.0, width, 480.0) if narrow else (560.0, 0.0, width - 560.0, height)
    terminal = (0.0, 480.0, width, height - 480.0) if narrow else (0.0, 0.0, 560.0, height)
    frames = _Frames()
    for number, (part, caption) in enumerate(zip(parts, CAPTIONS[language], strict=True)):
        begin = frames.now
        lines = [_text(line) for line in _folded(part, int((terminal[2] - 40) / _CELL))]
        typed = len(lines) - len(part.printed)
        times = [begin + 0.6 + _LINE_S * (row >= typed) + 0.12 * row for row in range(len(lines))]
        drawn = [begin + 0.8 + _EVENT_S * each * 2 for each in range(len(part.graphs))]
        end = max([*times, *drawn]) + _REST_S
        where = f'x="{terminal[0] + 20}" y="{terminal[1] + 36}"'
        head = f'<text {where} class="caption">{number + 1}/{len(parts)}  {escape(caption)}</text>'
        frames.show(begin, end, head)
        for row, (line, at) in enumerate(zip(lines, times, strict=True)):
            place = f'x="{terminal[0] + 20}" y="{terminal[1] + 70 + row * _LINE}"'
            frames.show(at, end, f'<text {place} class="{"typed" if row < typed else "line"}">{line}</text>')
        if begin and drawn:
            frames.show(begin, drawn[0], _placed(parts[number - 1].graphs[-1], box))
        for at, until, svg in zip(drawn, [*drawn[1:], end], part.graphs, strict=True):
            frames.show(at, until, _placed(svg, box))
        frames.now = end
    rules, elements = frames.render()
    still = _placed(parts[-1].graphs[-1], box)
    sizes = f'width="{width:g}" height="{height:g}"'
    dark = " ".join(f'{name}="{value:g}"' for name, value in zip(("x", "y", "width", "height"), terminal, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {sizes} viewBox="0 0 {width:g} {height:g}" role="img">\n'
        f"<title>{escape('. '.join(CAPTIONS[language]))}</title>\n<style>.f{{opacity:0}}text{{white-space:pre}}"
        ".line,.typed{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace;fill:#e2e8f0}"
        ".typed{fill:#86efac}.caption{font:600 17px system-ui,sans-serif;fill:#fff}.rest{display:none}"
        f"{rules}@media (prefers-reduced-motion:reduce){{.f{{animation:none}}.rest{{display:block}}}}</style>\n"
        f'<rect {sizes} rx="10" fill="#fff"/>\n<rect {dark} rx="10" fill="#0f172a"/>\n'
        f'<g class="rest">{still}</g>\n{elements}\n</svg>\n'
    )


def _folded(part: Shown, columns: int) -> Iterator[str]:
    """Yield the command, broken at blanks, and its output, cut at the edge of the terminal."""
    yield from wrap(f"$ {part.command}", columns, subsequent_indent="    ", break_on_hyphens=False)
    for line in part.printed:
        yield next(line[:end] for end in range(len(line), -1, -1) if cells(line[:end]) <= columns)


def _text(line: str) -> str:
    return escape(line).replace(" ", "\u00a0")


def _placed(svg: str, box: tuple[float, float, float, float]) -> str:
    """Return a graph scaled to fit a box."""
    x, y, width, height = box
    return re.sub(
        r'<svg xmlns="[^"]+" width="[\d.]+" height="[\d.]+"',
        f'<svg x="{x + 12:g}" y="{y + 12:g}" width="{width - 24:g}" height="{height - 24:g}"', svg, count=1,
    )  # fmt: skip


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield the file and the content of each picture, wide and narrow in both languages."""
    for language, path in FILES.items():
        parts = scenes(language)
        yield path.with_name("moving.svg"), moving(parts, language, _WIDE)
        yield path.with_name("moving-narrow.svg"), moving(parts, language, _NARROW)


if __name__ == "__main__":
    for file, content in pictures():
        file.write_text(content, encoding="utf-8")
