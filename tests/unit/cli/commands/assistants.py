"""The server for assistants as a client of the SDK meets it: started in a project, called, answered."""

import contextlib
import os
import subprocess
import sys

import anyio
import pytest

from tests import commands

FLOW = """ROSTemplateFormatVersion: '2015-09-01'
Resources:
  Orders:
    Type: ALIYUN::MNS::Queue
    Properties: {QueueName: orders}
  Order:
    Type: ALIYUN::FNF::Flow
    Properties:
      Name: order
      Description: pays
      Definition: |
        version: v1
        type: flow
        steps:
          - type: task
            name: pay
            resourceArn: acs:fc:::services/shop/functions/pay
"""


SERVER = """
import sys
from emulator.cli.assistant import running
from emulator.cli.main import main
from tests import commands

usual = running._run_to_end
running._run_to_end = lambda command, *others: usual([*commands.program(), *command[4:]], *others)
sys.exit(main())
"""
"""A server whose commands are forked too: its own command line, of which this leaves the words, is that of Python."""
LOADED = (
    *("emulator.cli.commands.mcp", "emulator.cli.assistant.server", "emulator.cli.reference_grammar"),
    *("anyio._backends._asyncio", "rich.console", "rich.logging"),
    *commands.PROGRAM,
)
"""What servers load, which takes them longer than most of what they are asked."""


class Pipe:
    """An end of a pipe to a server, as the SDK's client reads from it or writes to it."""

    def __init__(self, file):
        self._file = file

    async def send(self, data):
        self._file.buffer.write(data)
        self._file.flush()

    async def receive(self):
        if self._file.closed:
            raise anyio.ClosedResourceError
        await anyio.wait_readable(self._file)
        if data := os.read(self._file.fileno(), 65536):
            return data
        raise anyio.EndOfStream

    async def aclose(self):
        if not self._file.closed:
            anyio.notify_closing(self._file)
            self._file.close()


class Server:
    """A server forked from a process that has loaded it, in the place of one that the SDK's client starts."""

    def __init__(self, folder, env):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._child = commands.popen_code(SERVER, ["mcp"], loaded=LOADED, cwd=folder, env=env, **pipes)
        self.pid = self._child.pid
        self.stdin, self.stdout = Pipe(self._child.stdin), Pipe(self._child.stdout)

    @property
    def returncode(self):
        return self._child.poll()


@contextlib.asynccontextmanager
async def over_stdio(project, *, forked=True):
    """Yield the server of a project as what the SDK's client takes, which starts it itself unless it is *forked*."""
    from mcp.client import stdio  # an extra

    async def fork(command, args, env, errlog, cwd):
        return Server(cwd, env)

    folder, env = project
    command = stdio.StdioServerParameters(command=sys.executable, args=["-m", "emulator", "mcp"], cwd=folder, env=env)
    with pytest.MonkeyPatch.context() as patching:
        if forked:
            patching.setattr(stdio, "_create_platform_compatible_process", fork)
        async with stdio.stdio_client(command) as streams:
            yield streams


async def said(client, tool, **arguments):
    """Return the text of an answer, which is no failure."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return answer.content[0].text


async def refused(client, tool, **arguments):
    """Return the text of a failure."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.content[0].text
    return answer.content[0].text
