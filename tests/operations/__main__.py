"""A longer run: ``python3 -m tests.operations COUNT SEED``."""

import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.operations.calling import running
from tests.operations.recording import every_operation
from tests.operations.running import Findings, torment


async def main(count: int, seed: int) -> Findings:
    """Run *count* variations of every operation."""
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder)) as site:
            return await torment(site, every_operation(), count, random.Random(seed))


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    found = asyncio.run(main(*(numbers + [50, 1][len(numbers) :])))
    print("\n\n".join(found.complaints))
    print("never accepted:", *found.never_accepted)
    print(f"{found.accepted} accepted, {found.refused} refused, {found.waiting} left waiting", end="; ")
    print(f"{len(found.complaints)} complaints")
    sys.exit(1 if found.complaints else 0)
