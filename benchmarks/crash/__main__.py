"""Kill an emulator under load and hold it to its word: ``python -m benchmarks.crash --kills 100 --seed 1``.

The exit code is 1 when something was found; the state folder, the emulator's log and the record of all operations
then stay, and the end of the record is printed.
"""

import argparse
import asyncio
import json
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.crash.run import Run
from benchmarks.harness import machine

KEPT = Path.home() / ".cache" / "localyun-crash"
"""Function instances have a /tmp of their own; what they write for the comparison lies elsewhere."""


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(prog="crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="how often to kill (default: 100)")
    parser.add_argument("--seed", type=int, help="what decides the operations and the instants (default: a new one)")
    parser.add_argument("--settle-every", type=int, default=50, help="kills between full comparisons (default: 50)")
    parser.add_argument("--folder", type=Path, help="where to work, not in /tmp (default: in ~/.cache)")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    arguments = parser.parse_args()
    seed = secrets.randbelow(1_000_000) if arguments.seed is None else arguments.seed
    folder = arguments.folder
    if folder is None:
        KEPT.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=KEPT))
    folder.mkdir(parents=True, exist_ok=True)

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    run = Run(folder.absolute(), kills=arguments.kills, seed=seed, settle_every=arguments.settle_every, tell=tell)
    tell(f"seed {seed}, {folder}")
    passed = asyncio.run(run.run())
    told = {"machine": machine(), "seed": seed, **run.summary()}
    text = json.dumps(told, indent=1, ensure_ascii=False)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    if passed:
        shutil.rmtree(folder)
        return 0
    lines = (folder / "record.jsonl").read_text(encoding="utf-8").splitlines()[-60:]
    tell("the end of the record:\n" + "\n".join(lines))
    tell(f"{len(run.record.findings)} findings; everything is in {folder}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
