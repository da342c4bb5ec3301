"""MCP servers of the official SDKs as functions: their clients keep their sessions, each in an instance of its own.

Server and client are of Python or Node.js, over SSE or Streamable HTTP, behind an HTTP trigger or a custom domain. Each
server remembers what it was told, so that a call in the wrong instance shows.
"""

import functools
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from emulator.kernel.frozen import frozen
from emulator.testing import Emulator
from tests import commands
from tests.sdk.test_fc_sessions import Site, zipped
from tests.waiting import eventually

pytest.importorskip("alibabacloud_fc20230330")
pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
MODULES = Path(__file__).parent / "scripts" / "node_modules"
TRANSPORTS = {"sse": "MCP_SSE", "streamable": "MCP_STREAMABLE"}

PYTHON_SERVER = f"""#!/bin/sh
'''exec' "{sys.executable}" "$0" "$@"
' '''
import os
from mcp.server.mcpserver import MCPServer
server, words = MCPServer("words"), []
@server.tool()
def remember(word: str) -> str:
    words.append(word)
    return " ".join([os.environ["FC_INSTANCE_ID"], *words])
@server.custom_route("/die", methods=["POST"])
async def die(request):
    os.kill(os.getpid(), 9)
server.run(os.environ["TRANSPORT"], host="0.0.0.0", port=int(os.environ["FC_SERVER_PORT"]))
"""
NODE_SERVER = f"""#!{shutil.which("node")}
const modules = process.env.MODULES + '/@modelcontextprotocol/sdk/dist/cjs/';
const {{ McpServer }} = require(modules + 'server/mcp.js');
const {{ SSEServerTransport }} = require(modules + 'server/sse.js');
const {{ StreamableHTTPServerTransport }} = require(modules + 'server/streamableHttp.js');
const {{ z }} = require(process.env.MODULES + '/zod');
const {{ randomUUID }} = require('crypto');
const words = [], transports = {{}};
function serve(transport) {{
  const server = new McpServer({{ name: 'words', version: '1.0.0' }});
  server.registerTool('remember', {{ inputSchema: {{ word: z.string() }} }}, ({{ word }}) => {{
    words.push(word);
    return {{ content: [{{ type: 'text', text: [process.env.FC_INSTANCE_ID, ...words].join(' ') }}] }};
  }});
  return server.connect(transport);
}}
require('http').createServer(async (request, response) => {{
  const url = new URL(request.url, 'http://here');
  if (url.pathname === '/die') process.kill(process.pid, 'SIGKILL');
  if (process.env.TRANSPORT === 'sse') {{
    if (request.method === 'GET') {{
      const transport = new SSEServerTransport('/messages', response);
      transports[transport.sessionId] = transport;
      return serve(transport);
    }}
    const known = transports[url.searchParams.get('sessionId')];
    return known ? known.handlePostMessage(request, response) : response.writeHead(404).end();
  }}
  const id = request.headers['mcp-session-id'];
  if (id && !transports[id]) return response.writeHead(404).end();
  let transport = transports[id];
  if (!transport) {{
    transport = new StreamableHTTPServerTransport({{
      sessionIdGenerator: randomUUID, onsessioninitialized: (made) => {{ transports[made] = transport; }} }});
    await serve(transport);
  }}
  return transport.handleRequest(request, response);
}}).listen(Number(process.env.FC_SERVER_PORT), '127.0.0.1');
"""
FORKED = str(Path(__file__).with_name("forked_program.py"))

LOADED = (
    *("mcp.client.session", "mcp.client.sse", "mcp.client.streamable_http", "httpx2", "httpcore2"),
    *("anyio._backends._asyncio", "jsonschema", "mcp.server.mcpserver", "sse_starlette", "rich.table"),
    *(f"uvicorn.{each}" for each in ("protocols.http.auto", "protocols.websockets.auto", "lifespan.on", "loops.auto")),
)
"""What clients and servers of Python load, which takes them longer than their words do."""

PYTHON_CLIENT = """
import asyncio, contextlib, json, sys
from mcp.client.session import ClientSession
url, host, transport, words = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
@contextlib.asynccontextmanager
async def opened():
    if transport == "sse":
        from mcp.client.sse import sse_client
        async with sse_client(url, headers={"Host": host}) as streams:
            yield streams
    else:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client
        async with httpx2.AsyncClient(headers={"Host": host}, timeout=30) as client:
            async with streamable_http_client(url, http_client=client) as streams:
                yield streams
async def main():
    async with opened() as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        assert [tool.name for tool in (await session.list_tools()).tools] == ["remember"]
        for word in words:
            told = await session.call_tool("remember", {"word": word})
            print(json.dumps(told.content[0].text), flush=True)
            sys.stdin.readline()
asyncio.run(main())
"""
NODE_CLIENTS = """
const modules = process.argv[2] + '/@modelcontextprotocol/sdk/dist/cjs/';
const { Client } = require(modules + 'client/index.js');
const { SSEClientTransport } = require(modules + 'client/sse.js');
const { StreamableHTTPClientTransport } = require(modules + 'client/streamableHttp.js');
const http = require('http');
const goOn = {};
function tell(which, told) {
  console.log(JSON.stringify([which, told]));
}
async function serve({ which, url, host, transport, words }) {
  function ask(address, init = {}) {
    return new Promise((resolve, reject) => {
      const headers = { ...Object.fromEntries(new Headers(init.headers)), host };
      const request = http.request(address, { method: init.method || 'GET', headers }, (answer) => {
        const empty = [204, 304].includes(answer.statusCode);
        resolve(new Response(empty ? null : require('stream').Readable.toWeb(answer), {
          status: answer.statusCode, headers: answer.headers }));
      });
      request.on('error', reject);
      if (init.signal) init.signal.addEventListener('abort', () => request.destroy());
      request.end(init.body);
    });
  }
  const client = new Client({ name: 'test', version: '1.0.0' });
  const Transport = transport === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  const made = new Transport(new URL(url), { fetch: ask });
  await client.connect(made);
  for (const word of words) {
    const answer = await client.callTool({ name: 'remember', arguments: { word } });
    const next = new Promise((resolve) => { goOn[which] = resolve; });
    tell(which, answer.content[0].text);
    await next;
  }
  if (made.terminateSession) await made.terminateSession();
  await client.close();
  tell(which, 'closed');
}
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const told = JSON.parse(line);
  if (told.url) serve(told);
  else goOn[told.which]();
}).on('close', () => process.exit(0));
"""
"""As many clients as are told of: to load the SDK takes longer than they do."""


WORDS = 20
"""How many a client says under load: each is a call that finds its session's instance, or another's words."""

PIPES = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)


@functools.cache
def python():
    """Return the words that run a file of Python which loads the SDK: a server is forked, as clients are.

    What it is forked from has loaded the SDK by then: a server has a time to begin in.
    """
    if not commands.FORK:
        return [sys.executable]
    commands.popen_code("", [], loaded=LOADED).wait(60)
    return [sys.executable, "-I", "-S", "-B", FORKED, commands.parent(*LOADED).address]


def python_server():
    """Return a program that serves in Python."""
    return f"#!/bin/sh\n'''exec' {shlex.join(python())} \"$0\"\n' '''\n{PYTHON_SERVER}"


def check_available(language):
    if language == "python":
        pytest.importorskip("mcp")
    elif shutil.which("node") is None or not (MODULES / "@modelcontextprotocol").is_dir():
        pytest.skip("the SDK of Node.js is not installed in tests/sdk/scripts")


class PythonClient:
    """A client in a process of its own: it says a word, and goes on when it is told to."""

    def __init__(self, url, host, transport, *words):
        self._count = len(words)
        arguments = [url, host, transport, *words]
        self.process = commands.popen_code(PYTHON_CLIENT, arguments, loaded=LOADED, **PIPES)

    def said(self):
        """Return what the server said to the next word."""
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line).split()

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        """Let it close its session."""
        _, errors = self.process.communicate("\n" * self._count, timeout=60)
        assert self.process.returncode == 0, errors


class NodeProcess:
    """Clients that Node.js has, each with a session of its own."""

    def __init__(self):
        words = ["node", "-e", NODE_CLIENTS, "--", "script", str(MODULES)]
        self.process = subprocess.Popen(words, text=True, **PIPES)
        self._heard = []

    def ask(self, asked):
        self.process.stdin.write(f"{json.dumps(asked)}\n")
        self.process.stdin.flush()

    def hear(self, which):
        """Return what one of them tells next."""
        while which not in (first := [each for each, _ in self._heard]):
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self._heard.append(json.loads(line))
        return self._heard.pop(first.index(which))[1]

    def client(self, url, host, transport, *words):
        """Return a client that says the first word."""
        client = NodeClient(self, len(words))
        self.ask({"which": client.which, "url": url, "host": host, "transport": transport, "words": words})
        return client


class NodeClient:
    """One of them, which does as a `PythonClient` does."""

    def __init__(self, process, count):
        self._process, self._left, self.which = process, count, uuid.uuid4().hex

    def said(self):
        """Return what the server said to the next word."""
        self._left -= 1
        return self._process.hear(self.which).split()

    def go_on(self):
        self._process.ask({"which": self.which})

    def end(self):
        """Let it close its session when it has said its last word."""
        assert self._left == 0
        self.go_on()
        assert self._process.hear(self.which) == "closed"


@pytest.fixture(scope="module")
def node():
    """The process of Node.js."""
    clients = NodeProcess()
    yield clients
    clients.process.communicate(timeout=30)
    assert clients.process.returncode == 0


@pytest.fixture(scope="module")
def site():
    with Emulator() as localyun:
        yield Site(localyun)


def served(site, language, transport, **more):
    """Make a server with one session an instance; return its name."""
    told = {"sse": "sse", "streamable": "streamable-http"}[transport] if language == "python" else transport
    server = python_server() if language == "python" else NODE_SERVER
    return site.function(
        TRANSPORTS[transport],
        {"sessionConcurrencyPerInstance": 1},
        custom=True,
        code={"zipFile": zipped("bootstrap", server)},
        environmentVariables={"TRANSPORT": told, "MODULES": str(MODULES)},
        **more,
    )


def sessions_of(site, name):
    return site.localyun.api.admin("GET", "sessions", function=name)["sessions"]


@pytest.mark.parametrize(
    ("server", "client", "way", "transport"),
    [("python", "node", "trigger", "sse"), ("node", "python", "domain", "sse"),
     ("python", "node", "domain", "streamable"), ("node", "python", "trigger", "streamable")],
    ids=lambda each: each,
)  # fmt: skip
def test_two_clients_keep_to_their_own_instances(site, request, server, client, transport, way):
    """Check 24: every tool call sees its own client's words; what a client has left is free for the next.

    The emulator reads what each side sends and writes to the other by itself, so that a language is on each side of
    each transport once. Both of Python say many more words over Streamable HTTP below, and keep apart over SSE as the
    documentation has them.
    """
    check_available(server)
    check_available(client)
    started = request.getfixturevalue("node").client if client == "node" else PythonClient
    name = served(site, server, transport)
    site.web(name)
    host = f"{name}.fc.localhost"
    if way == "domain":
        host = f"{uuid.uuid4().hex[:8]}.example.com"
        routes = {"routes": [{"path": "/*", "functionName": name, "methods": ["GET", "POST", "DELETE"]}]}
        body = site.models.CreateCustomDomainInput().from_map(
            {"domainName": host, "protocol": "HTTP", "routeConfig": routes}
        )
        site.client.create_custom_domain(site.models.CreateCustomDomainRequest(body=body))
    url = f"{site.localyun.endpoint}/{'sse' if transport == 'sse' else 'mcp'}"

    clients = [started(url, host, transport, f"{each}1", f"{each}2") for each in "ab"]
    heard = [each.said() for each in clients]
    assert {each["status"] for each in sessions_of(site, name)} == {"Active"}
    assert {each["instance"] for each in sessions_of(site, name)} == {each[0] for each in heard}
    for each in clients:
        each.go_on()
    again = [each.said() for each in clients]
    for each in clients:
        each.end()

    assert [words[1:] for words in heard] == [["a1"], ["b1"]]
    assert [words[1:] for words in again] == [["a1", "a2"], ["b1", "b2"]]
    assert heard[0][0] != heard[1][0]
    assert [words[0] for words in again] == [words[0] for words in heard]
    eventually(lambda: not sessions_of(site, name), 30, lambda: "the clients' sessions are still there")
    third = started(url, host, transport, "c1")
    assert third.said()[0] in {words[0] for words in heard}
    third.end()


def session_in(site, name, instance):
    """Return the session that is bound to an instance."""
    return next(each["session"] for each in sessions_of(site, name) if each["instance"] == instance)


def test_client_that_leaves_without_a_word_does_not_end_the_others(site):
    """Its stream breaks; the other's session in the same instance goes on."""
    check_available("python")
    name = served(site, "python", "sse")
    site.update(name, sessionAffinityConfig='{"sessionConcurrencyPerInstance": 2}')
    site.web(name)
    url, host = f"{site.localyun.endpoint}/sse", f"{name}.fc.localhost"
    stays, leaves = (PythonClient(url, host, "sse", f"{each}1", f"{each}2") for each in "ab")
    first, other = stays.said(), leaves.said()

    leaves.process.kill()
    leaves.process.communicate(timeout=30)
    eventually(
        lambda: len(sessions_of(site, name)) == 1, 30, lambda: "the session of the client that left is still there"
    )
    stays.go_on()

    assert first[0] == other[0]
    assert "a2" in stays.said()
    stays.end()


@frozen
class Walk:
    """What clients heard, and which sessions had rows, over `kill -9` of a server and then of the emulator."""

    status: int
    mine: list[str]
    theirs: list[str]
    survived: list[str]
    anew: list[str]
    broken: bool
    before: Mapping[str, str]
    left: Mapping[str, str]
    told: int
    after: Mapping[str, str]
    heard: list[list[list[str]]]


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """Two clients talk until one's server is killed, the other and a third until all is; then two begin anew.

    Before they do, one of the sessions of before is asked for.
    """
    check_available("python")
    emulator = Emulator(state=tmp_path_factory.mktemp("walk") / "state").start()
    endless, half, clients = 2000, threading.Semaphore(0), []

    def client(site, name, letter, count):
        url, host = f"{site.localyun.endpoint}/mcp", f"{name}.fc.localhost"
        words = [f"{letter}{number}" for number in range(count)]
        clients.append(PythonClient(url, host, "streamable", *words))
        return clients[-1]

    def talk(each, first, until):
        """Return all that was heard from the *first* word on; fails at the end of the emulator."""
        heard = []
        for number in range(first, until):
            if number:
                each.go_on()
            heard.append(each.said())
            assert len(heard[-1]) == number + 2  # the instance, and all words so far
            if number == first + WORDS // 2:
                half.release()
        return heard

    try:
        site = Site(emulator.localyun)
        name = served(site, "python", "streamable")
        ask = site.web(name)
        with ThreadPoolExecutor() as both:
            pair = [client(site, name, letter, endless) for letter in "ab"]
            mine, theirs = (heard[-1] for heard in both.map(lambda each: talk(each, 0, WORDS // 2), pair))
            status, _, _ = ask("POST", "/die", "{}", Mcp_Session_Id=session_in(site, name, mine[0]))
            survived = talk(pair[1], WORDS // 2, WORDS)[-1]
            pair[0].process.kill()
            third = client(site, name, "c", endless)
            (anew,) = talk(third, 0, 1)
            talks = [both.submit(talk, pair[1], WORDS, endless), both.submit(talk, third, 1, endless)]
            for _ in talks:
                assert half.acquire(timeout=60), [each.exception(0) for each in talks]
            before = instances_by_session(site, name)
            emulator._process.kill()
            for each in clients:
                each.process.kill()
            broken = [each.exception(60) is not None for each in talks]
        emulator.stop()
        emulator.start()
        site = Site(emulator.localyun)
        left = instances_by_session(site, name)
        asked = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        kinds = {"Accept": "application/json, text/event-stream", "Content_Type": "application/json"}
        session = next(session for session, instance in before.items() if instance)
        told, _, _ = site.asker(name)("POST", "/mcp", asked, Mcp_Session_Id=session, **kinds)
        after = instances_by_session(site, name)
        with ThreadPoolExecutor() as both:
            pair = [client(site, name, letter, WORDS) for letter in "ab"]
            heard = list(both.map(lambda each: talk(each, 0, WORDS), pair))
        for each in pair:
            each.end()
    finally:
        for each in clients:
            each.process.kill()
            each.process.communicate(timeout=30)
        emulator.stop()
    return Walk(
        status=status, mine=mine, theirs=theirs, survived=survived, anew=anew, broken=all(broken), before=before,
        left=left, told=told, after=after, heard=heard,
    )  # fmt: skip


def instances_by_session(site, name):
    return {each["session"]: each["instance"] for each in sessions_of(site, name)}


@pytest.mark.timeout(300)
def test_clients_under_load_keep_apart_when_a_server_is_killed(walk):
    """Two clients in two instances, word after word; `kill -9` of one server leaves the other's words as they are."""
    assert walk.status >= 500
    assert walk.mine[1:] == [f"a{number}" for number in range(WORDS // 2)]
    assert walk.survived == [walk.theirs[0], *(f"b{number}" for number in range(WORDS))]
    assert (walk.mine[0] != walk.theirs[0], walk.anew[1:]) == (True, ["c0"])
    assert walk.anew[0] not in {walk.mine[0], walk.theirs[0]}


@pytest.mark.timeout(300)
def test_clients_under_load_keep_apart_over_the_end_of_the_emulator(walk):
    """Their rows stay, without their instances, and what they begin anew is their own."""
    instances = [instance for instance in walk.before.values() if instance]
    assert walk.broken
    assert sorted(instances) == sorted([walk.survived[0], walk.anew[0]])
    assert walk.left == dict.fromkeys(walk.before, "")
    for mine, letter in zip(walk.heard, "ab", strict=True):
        assert [each[1:] for each in mine] == [[f"{letter}{n}" for n in range(upto)] for upto in range(1, WORDS + 1)]
    where = [{each[0] for each in mine} for mine in walk.heard]
    assert [len(each) for each in where] == [1, 1]
    assert len({*where[0], *where[1], *instances}) == 4


@pytest.mark.timeout(300)
def test_client_of_a_killed_emulator_is_told_to_begin_anew(walk):
    """The rows of Streamable sessions survive `kill -9`, their servers do not: these say that they know no session."""
    assert walk.told == 404
    assert walk.after.keys() == walk.before.keys()
    assert len([instance for instance in walk.after.values() if instance]) == 1


WAITING = """
def print(text, shown=print):
    shown(text, flush=True)
    input()
"""
"""Before a client: it goes on after each line when it is told to, so that both have their sessions at one time."""


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_server_of_the_documentation_serves_the_client_beside_it(tmp_path, transport):
    """What the page tells to copy runs as it stands there, over SSE with the changes it names; clients keep apart."""
    check_available("python")
    page = (ROOT / "docs" / "functions" / "sessions.md").read_text(encoding="utf-8")
    server, config, client = re.findall(r"```\w+\n(.*?)```", page, flags=re.DOTALL)
    if transport == "sse":
        opened = re.search(r"`(sse_client\(.*\))`", page)[1].replace('"http://127.0.0.1:8868/sse"', "address")
        client = f"from mcp.client.sse import sse_client\n{client}".replace("streamable_http_client(address)", opened)
        server, config = server.replace("streamable-http", "sse"), config.replace("MCP_STREAMABLE", "MCP_SSE")
    folder = tmp_path / "functions" / "words"
    folder.mkdir(parents=True)
    (folder / "server.py").write_text(server)
    (folder / "function.yml").write_text(config.replace("python3", ", ".join(map(json.dumps, python()))))
    with Emulator(functions=tmp_path / "functions") as localyun:
        path = "sse" if transport == "sse" else "2023-03-30/proxy/words/mcp"

        address = f"{localyun.endpoint}/{path}"
        clients = [commands.popen_code(WAITING + client, [address], loaded=LOADED, **PIPES) for _ in range(2)]
        first = [each.stdout.readline() for each in clients]
        then = [each.communicate("\n\n", timeout=60) for each in clients]
        eventually(lambda: "words" not in localyun.command("function", "sessions", "words"), 30, lambda: "it goes on")

    for each, begin, (end, errors) in zip(clients, first, then, strict=True):
        assert (begin + end, each.returncode) == ("to\nto be\n", 0), errors
