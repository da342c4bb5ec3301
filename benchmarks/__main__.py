"""Measure everything: ``python -m benchmarks [--rounds N] [--json FILE]``; prints one table."""

import argparse
from contextlib import closing
from pathlib import Path

from benchmarks.foundation import Foundation
from benchmarks.harness import machine, run, table, write_json
from benchmarks.mns import Queues
from benchmarks.mns_http import QueuesOverHttp


def main() -> None:
    """Run all rows and print them."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="samples of every figure (default: 5)")
    parser.add_argument("--json", type=Path, help="also write every sample to this file")
    arguments = parser.parse_args()
    with closing(Foundation()) as foundation, closing(Queues()) as queues, closing(QueuesOverHttp()) as over_http:
        rows = foundation.rows() + queues.rows() + over_http.rows()
        run(rows, arguments.rounds)
    told = machine()
    print(f"{told['cpu']}, {told['cores']} cores, {told['system']}, Python {told['python']}\n")
    print(table(rows))
    if arguments.json:
        write_json(arguments.json, rows)


if __name__ == "__main__":
    main()
