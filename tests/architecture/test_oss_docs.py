"""The pages about object storage tell what is there, and their examples run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.oss import buckets, objects, settings, uploads
from emulator.wire.operation import operations_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
VARIANTS = {"ListObjectsV2", "CopyObject", "UploadPartCopy"}
"""Operations that the reference names, and that are told from others by a header or a parameter."""


def test_fidelity_lists_every_operation_on_objects():
    """What is listed as served exists, and everything that exists is listed."""
    section = (DOCS / "fidelity.md").read_text().partition("## Object storage")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([A-Z]\w+)` \| served", section, re.MULTILINE)

    operations = operations_of(buckets, objects, uploads)

    served = {each.name for each in operations if "?" not in each.name}
    assert set(listed) == served | VARIANTS
    assert len(listed) == len(set(listed))


def test_fidelity_lists_every_setting_of_a_bucket():
    """With what can be done to it."""
    rows = re.findall(
        r"^\| `([a-z]\w+)` \| served \| (served|refused) \|(?: (served|refused))? \|",
        (DOCS / "fidelity.md").read_text(),
        re.MULTILINE,
    )
    routes = {each.route for each in operations_of(settings)}

    assert {name for name, _, _ in rows} == {route.partition("?")[2] for route in routes}
    for name, put, delete in rows:
        assert (f"PUT /{{bucket}}?{name}" in routes) == (put == "served")
        assert (f"DELETE /{{bucket}}?{name}" in routes) == (delete == "served")


def test_examples_of_the_page_run(emulator):
    """One after the other, in a shell prepared by `localyun env`."""
    pytest.importorskip("oss2")
    pytest.importorskip("fc2")
    pytest.importorskip("moto.s3.models")
    keys = emulator.keys
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")} | {
        "ALIBABA_CLOUD_ACCESS_KEY_ID": keys["accessKeyId"],
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": keys["accessKeySecret"],
        "LOCALYUN_ENDPOINT": emulator.url,
        "LOCALYUN_ACCOUNT_ID": keys["accountId"],
        "LOCALYUN_REGION": keys["region"],
    }
    snippets = re.findall(r"```python\n(.*?)```", (DOCS / "oss.md").read_text(), re.DOTALL)
    client = emulator.fc2()
    client.create_service("documented")
    client.create_function(
        "documented", "echo", "python3.10", "index.handler", codeDir=str(ROOT / "functions" / "fnf-demo" / "echo")
    )

    outputs = [
        subprocess.run(
            [sys.executable, "-c", snippet.replace('"fnf-demo"', '"documented"')],
            env=environment, capture_output=True, text=True, timeout=60, check=True,
        ).stdout
        for snippet in snippets
    ]  # fmt: skip

    assert len(snippets) == 2
    assert outputs == ["b'hello'\n", ""]
    assert client.get_trigger("documented", "echo", "uploads").data["triggerType"] == "oss"
    client.delete_trigger("documented", "echo", "uploads")
    client.delete_function("documented", "echo")
    client.delete_service("documented")
