"""The tool `export` of assistants: it says what the files lack, and advises nothing that it cannot do."""

import pytest

pytest.importorskip("mcp.client.client", reason="the extra mcp is missing")

from mcp.client import Client

from tests.unit.cli.commands.assistants import over_stdio, refused, said

FUNCTION = """edition: 3.0.0
name: shop
resources:
  f:
    component: fc3
    props:
      functionName: f
      runtime: python3.12
      handler: index.handler
      code: ./code
      environmentVariables: {DB_PASSWORD: swordfish}
"""


async def test_export_says_what_was_left_out_and_why_it_writes_nothing(project):
    """The notes of the command come with its answer; --overwrite and the emulator's state are not for tools."""
    folder, _env = project
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "index.py").write_text("def handler(event, context):\n    return event\n")
    (folder / "f.yaml").write_text(FUNCTION)

    async with Client(over_stdio(project)) as client:
        await said(client, "deploy", file="f.yaml")
        done = await said(client, "export", folder="out")
        again = await refused(client, "export", folder="out")
        state = await refused(client, "export", folder=".localyun/out")

    assert "out/s.yaml: 1 resource" in done
    assert "may be secret and was not written; set it before you deploy: export F_DB_PASSWORD=..." in done
    assert "choose another folder" in again
    assert "--overwrite" not in again
    assert "folder of the emulator's state" in state
