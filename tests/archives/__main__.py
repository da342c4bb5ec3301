"""A longer run: ``python3 -m tests.archives COUNT SEED``."""

import sys
import tempfile
from pathlib import Path

from tests.archives.running import run

if __name__ == "__main__":
    count, seed = [*map(int, sys.argv[1:]), *[2000, 1][len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory(dir=None) as folder:
        complaints, ends = run(Path(folder), count, seed)
    print("\n".join(complaints))
    print(", ".join(f"{number} {end}" for end, number in sorted(ends.items())), end="; ")
    print(f"{len(complaints)} complaints")
    sys.exit(1 if complaints else 0)
