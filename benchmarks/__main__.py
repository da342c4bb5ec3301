"""Measure everything: ``python -m benchmarks [PART ...] [--rounds N] [--json FILE]``; prints one table."""

import argparse
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from benchmarks.big_state import BigState
from benchmarks.command import Commands
from benchmarks.commits import Commits
from benchmarks.exploration import Exploration
from benchmarks.foundation import Foundation
from benchmarks.functions import Functions
from benchmarks.harness import origin, run, summary, write_between, write_json
from benchmarks.lab import Lab
from benchmarks.mixed import Mixed
from benchmarks.mns import Queues
from benchmarks.mns_http import QueuesOverHttp
from benchmarks.mns_push import Pushes
from benchmarks.peers import Peers
from benchmarks.streams import Streams
from benchmarks.waits import Waits
from benchmarks.workflow import Workflows

PARTS: dict[str, Callable[[], Any]] = {
    "foundation": Foundation, "command": Commands, "functions": Functions, "workflow": Workflows, "queues": Queues,
    "commits": Commits, "http": QueuesOverHttp, "mixed": Mixed, "pushes": Pushes, "lab": Lab, "streams": Streams,
    "exploration": Exploration, "waits": Waits,
}  # fmt: skip


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def main() -> None:
    """Run all rows and print them."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=5, help="samples of every figure (default: 5)")
    parser.add_argument("--json", type=Path, help="also write every sample to this file")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table into this page")
    parser.add_argument("--big", action="store_true", help="measure a large state instead; it takes 1.5 GB for a while")
    parser.add_argument(
        "--growth", action="store_true", help="print how every operation, command and page grows instead"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="of --growth, only what has TEXT in its name")
    parser.add_argument(
        "--sizes", type=_sizes, default=None, metavar="N,N", help="of --growth, how much there is (100,1000,10000)"
    )
    parser.add_argument("--curves", type=Path, metavar="FILE", help="draw how costs grow into this SVG file instead")
    parser.add_argument("--flames", type=Path, metavar="FOLDER", help="draw flame graphs into this folder instead")
    parser.add_argument(
        "--against", metavar="COMMIT", help="compare with this commit or checkout instead; also what flames are before"
    )
    parser.add_argument("--peers", action="store_true", help="measure other emulators instead; installs them in .bench")
    parser.add_argument("--standstill", action="store_true", help="print the longest standstills of the loop instead")
    arguments = parser.parse_args()
    if arguments.standstill:
        from benchmarks.standstill import Standstill  # its own program

        with closing(Standstill()) as watched:
            for line in watched.lines():
                print(line, flush=True)
        return
    if arguments.growth:
        from benchmarks.growth.run import SIZES, grown  # its own programs
        from benchmarks.growth.run import summary as growth_summary

        told(arguments.markdown, "growth", growth_summary(*grown(arguments.only, arguments.sizes or SIZES)))
        return
    if arguments.curves:
        from benchmarks.curves import draw  # its own programs

        print(draw(arguments.curves))
        return
    if arguments.flames:
        from benchmarks import flames  # installs a program on first use

        print(flames.draw(arguments.flames, arguments.against or flames.BEFORE))
        return
    if arguments.against:
        from benchmarks.against import compare  # its own programs

        told(arguments.markdown, "earlier", f"{origin()}\n\n{compare(arguments.against)}\n")
        return
    if unknown := sorted(set(arguments.parts) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}")
    chosen = [PARTS[name] for name in arguments.parts or PARTS]
    others = ([Peers], "peers") if arguments.peers else ([BigState], "large") if arguments.big else None
    measured, table = others or (chosen, "figures")
    with ExitStack() as stack:
        parts = [stack.enter_context(closing(part())) for part in measured]
        rows = [row for part in parts for row in part.rows()]
        run(rows, arguments.rounds)
    told(arguments.markdown, table, summary(rows))
    if arguments.json:
        write_json(arguments.json, rows)


def told(page: Path | None, table: str, text: str) -> None:
    """Print a text, and write it between the marks of its table where there is a page."""
    print(text)
    if page is not None:
        write_between(page, table, text)


if __name__ == "__main__":
    main()
