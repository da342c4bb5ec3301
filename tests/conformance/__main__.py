"""Run the tests with official clients and write docs/conformance.md: ``python3 dev.py conformance [PATH ...]``.

With paths, what they show is added to what the page has.
"""

import json
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import pytest

from emulator import __version__
from tests.commit import commit
from tests.conformance.contributed import described, files
from tests.conformance.page import CASES, PAGE, ROOT, gathered, rendered

TESTS = ("tests/sdk", "tests/architecture/test_tutorial_pages.py")
SDKS = (
    "aliyun-fc2", "aliyun-mns-sdk", "aliyun-python-sdk-core", "aliyun-python-sdk-fnf", "alibabacloud_fc20230330",
    "alibabacloud_fc_open20210406", "alibabacloud_fnf20190315", "alibabacloud_mns_open20220119",
    "alibabacloud_ram20150501", "alibabacloud_sts20150401", "oss2",
)  # fmt: skip

RAN = {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
"""With these the tests have run; after others there is nothing to write."""


def main(paths):
    """Run *paths*, or all, and write page and cases; the exit code is pytest's."""
    known = json.loads(CASES.read_text(encoding="utf-8"))["cases"] if paths else {}
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        # In one process and one order: what a shared fixture calls counts for the first case that needs it.
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly"]
        command += ["-p", "tests.conformance.plugin"]
        done = subprocess.run([*command, "--conformance", folder, *(paths or TESTS)], cwd=ROOT, check=False)
        matrix = gathered(Path(folder), known)
    if done.returncode not in RAN:
        return done.returncode
    facts = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "localyun": f"{__version__}, commit {commit()}",
        "cases": len(
            {case for rows in matrix.values() for row in rows.values() for cell in row.values() for case in cell}
        ),
        "Python": platform.python_version(),
        "SDKs for Python": ", ".join(f"{name} {metadata.version(name)}" for name in SDKS),
    }
    PAGE.write_text(rendered(matrix, facts), encoding="utf-8")
    CASES.write_text(json.dumps({"facts": facts, "cases": matrix}, indent=1) + "\n", encoding="utf-8")
    for file in files():
        print(described(file))
    print(f"{PAGE.relative_to(ROOT)} and {CASES.relative_to(ROOT)} are written")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
