"""Coverage-guided fuzzing: ``python3 dev.py fuzz TARGET --seconds N``; ``all`` takes one target after the other.

Seeds come from ``corpus/`` and ``regressions/``. What the engine finds of interest stays in ``.fuzz/TARGET/corpus``,
so a later run goes on from there. A finding is printed as a line for ``regressions/TARGET.txt``.
"""

import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path

from tests.fuzz.catalog import TARGETS
from tests.fuzz.inputs import CORPUS, REGRESSIONS, read_inputs

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / ".fuzz"

SECONDS_AN_INPUT = 5
MEMORY_MB = 1024

_PULSE = re.compile(r"^#(\d+).*?cov: (\d+) ft: (\d+)", re.MULTILINE)


def main() -> int:
    """Fuzz what is asked for; the exit code is 1 when something was found."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=[*TARGETS, "all"], metavar="TARGET", help=f"all, {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    asked = parser.parse_args()
    names = TARGETS if asked.target == "all" else [asked.target]
    findings = [fuzz(name, asked.seconds) for name in names]
    return 1 if any(findings) else 0


def fuzz(name: str, seconds: int) -> bool:
    """Run one target and print what came of it; return whether it failed."""
    folder = WORK / name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in read_inputs(CORPUS, name) + read_inputs(REGRESSIONS, name):
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    options = [
        f"-max_total_time={seconds}", f"-timeout={SECONDS_AN_INPUT}", f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={TARGETS[name].longest}", f"-artifact_prefix={folder}/", "-print_final_stats=1",
    ]  # fmt: skip
    log = folder / "log"
    with log.open("wb") as sink:
        command = [sys.executable, "-m", "tests.fuzz.engine", name, str(corpus), *options]
        code = subprocess.run(command, cwd=ROOT, check=False, stdout=sink, stderr=subprocess.STDOUT).returncode
    told = log.read_text("utf-8", "replace")
    pulses = _PULSE.findall(told)
    runs, edges, features = pulses[-1] if pulses else ("0", "0", "0")
    verdict = "ok" if code == 0 else "FAILED"
    print(f"{name:16} {int(runs):>11,} runs {edges:>6} edges {features:>6} features  {verdict}", flush=True)
    if code:
        _explain(name, folder, told)
    return code != 0


def _explain(name: str, folder: Path, told: str) -> None:
    print("\n".join(told.splitlines()[-40:]))
    for finding in sorted(folder.glob("*-*")):
        print(f"once it is fixed, add to tests/fuzz/regressions/{name}.txt:\n{finding.read_bytes()!r}")
        finding.unlink()


if __name__ == "__main__":
    sys.exit(main())
