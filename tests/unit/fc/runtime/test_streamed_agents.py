"""HTTP answers of Java, PHP and .NET functions that are passed on while the handler still writes them."""

import shutil
from pathlib import Path
from textwrap import dedent
from urllib.parse import urlencode

import pytest

from emulator.http.client_connection import ClientError
from emulator.services.fc.runtime.model import HttpCall
from emulator.services.fc.runtime.streaming import FailedMidway

PHP = r"""
<?php
use RingCentral\Psr7\Response;

class Foreign {
    public function __construct(private $left) {}
    public function getSize() { return null; }
    public function isSeekable() { return false; }
    public function eof() { return $this->left === []; }
    public function read($size) { return array_shift($this->left); }
    public function __toString() { return implode('', $this->left); }
}

function answer($body) {
    return new Response(201, ['X-Own' => 'a'], $body);
}

function written($asked) {
    yield 'one ';
    while (isset($asked['go']) && !file_exists($asked['go'])) {
        usleep(5000);
        clearstatcache();
    }
    if (isset($asked['fail'])) {
        throw new InvalidArgumentException('oops');
    }
    if (isset($asked['exit'])) {
        exit(3);
    }
    yield '';
    yield 'two true';
}

function handler($request, $context) {
    $asked = $request->getQueryParams();
    switch ($asked['form'] ?? '') {
        case 'short':
            return answer('one ');
        case 'file':
            return answer(fopen($asked['path'], 'r'));
        case 'function':
            $left = ['one ', 'two true'];
            return answer(function ($wanted) use (&$left) { return array_shift($left) ?? false; });
        case 'foreign':
            return new class {
                public function getStatusCode() { return 200; }
                public function getHeaders() { return []; }
                public function getBody() { return new Foreign(['one ', 'two true']); }
            };
    }
    return answer(written($asked));
}
"""


@pytest.fixture(params=["dotnet", "java", "php"])
def made(functions, request):
    """A function that writes ``one``, waits for a file where it is told to, and writes ``two``."""
    if request.param == "php":
        return php(functions)
    if request.param == "dotnet":
        program = request.getfixturevalue("dotnet_host")
        request.getfixturevalue("monkeypatch").setenv("DOTNET_ROOT", str(Path(program).parent))
        return dotnet(functions, request.getfixturevalue("dotnet_package"))
    package = request.getfixturevalue("java_package")
    image = functions.image(
        "", runtime="java11", handler="example.Handlers$Slow::handleRequest", timeout_s=30, memory_mb=512
    )
    shutil.copy(package, image.code_dir)
    return image


def dotnet(functions, package):
    """The C# function."""
    image = functions.image("", runtime="dotnetcore3.1", handler="Example::Example.Web::Slow", timeout_s=30)
    shutil.copytree(package, image.code_dir, dirs_exist_ok=True)
    return image


def php(functions):
    """The PHP function."""
    if shutil.which("php") is None:
        pytest.skip("there is no php on the PATH")
    image = functions.image("", runtime="php7.2", handler="index.handler", timeout_s=20)
    (image.code_dir / "index.php").write_text(dedent(PHP).lstrip())
    return image


def request(functions, *, stream=True, **asked):
    """An HTTP request with a query."""
    uri = f"/?{urlencode(asked)}"
    http = HttpCall(
        method="GET", path="/", request_uri=uri, base_path="", client_ip="127.0.0.1", host="h", headers=(("Host", "h"),)
    )
    return functions.invocation(b"", http=http, stream=stream)


async def read(stream):
    """The pieces of a body until it ends or breaks, and what broke it."""
    assert stream is not None
    pieces = []
    try:
        async for piece in stream:
            pieces.append(piece)  # noqa: PERF401 - what came before the error counts
    except (ClientError, FailedMidway) as error:
        return pieces, type(error)
    return pieces, None


async def test_first_piece_is_there_before_the_last_is_written(functions, made):
    """Status and fields come with it; the instance is busy until the body has been read."""
    go = made.code_dir / "go"

    async with functions.pool() as pool:
        result = await pool.invoke(made, request(functions, go=go))
        first = await anext(result.stream)
        during = [info.state for info in pool.instances(made.family)]
        go.touch()
        rest = await read(result.stream)
        after = [info.state for info in pool.instances(made.family)]
        again = await pool.invoke(made, request(functions))
        body, _ = await read(again.stream)

    assert (result.error_type, result.http.status, result.http.headers) == (None, 201, (("X-Own", "a"),))
    assert (first, during) == (b"one ", ["busy"])
    assert (b"".join(rest[0]), rest[1], after) == (b"two true", None, ["idle"])
    assert (again.cold, b"".join(body)) == (False, b"one two true")


async def test_answers_are_whole_for_callers_that_want_them_so(functions, made):
    """The body is the result's."""
    result = await functions.invoke(made, request(functions, stream=False))

    assert (result.stream, result.http.status) == (None, 201)
    assert result.body in {b"one two true", b"one two false"}


async def test_bodies_that_are_known_to_be_short_are_sent_at_once(functions, made):
    """By the length that the handler tells, or its body has."""
    result = await functions.invoke(made, request(functions, length=1, form="short"))

    assert (result.stream, result.body, result.http.status) == (None, b"one ", 201)


@pytest.mark.parametrize(("order", "broken"), [("fail", FailedMidway), ("exit", ClientError)])
async def test_failures_cut_an_answer_short_that_has_begun(functions, made, order, broken):
    """The reader learns of it; the log says what happened."""
    async with functions.pool() as pool:
        result = await pool.invoke(made, request(functions, **{order: 1}))
        pieces, error = await read(result.stream)

    log = b"".join(data for _, data in functions.log)
    assert pieces == [b"one "]
    assert issubclass(error, broken)
    if order == "fail":
        assert b"oops" in log


COUNTING = r"""
<?php
function pieces($count) {
    for ($number = 1; $number <= 64; $number++) {
        file_put_contents($count, (string) $number);
        yield str_repeat('x', 256 * 1024);
    }
}

function handler($request, $context) {
    return new RingCentral\Psr7\Response(200, [], pieces($request->getQueryParams()['count']));
}
"""


async def test_agent_waits_for_a_slow_reader(functions):
    """What is written and not read yet is bounded."""
    made = php(functions)
    (made.code_dir / "index.php").write_text(COUNTING.lstrip())
    slow, quick = made.code_dir / "slow", made.code_dir / "quick"

    async with functions.pool() as pool:
        result = await pool.invoke(made, request(functions, count=slow))
        first = await anext(result.stream)
        meanwhile = await read((await pool.invoke(made, request(functions, count=quick))).stream)
        written = int(slow.read_text())
        slowly, quickly = [first, *(await read(result.stream))[0]], meanwhile[0]

    assert sum(map(len, slowly)) == sum(map(len, quickly)) == 64 * 256 * 1024
    assert written < 16
    assert (slow.read_text(), quick.read_text()) == ("64", "64")


@pytest.mark.parametrize("form", ["function", "foreign"])
async def test_other_bodies_of_php_are_read_piece_by_piece(functions, form):
    """A function that returns pieces, and the body of another library."""
    made = php(functions)

    async with functions.pool() as pool:
        result = await pool.invoke(made, request(functions, form=form))
        assert await read(result.stream) == ([b"one ", b"two true"], None)


async def test_open_file_is_a_body_of_php(functions):
    """It is read to its end."""
    made = php(functions)
    (made.code_dir / "large").write_bytes(b"x" * 100_000)

    async with functions.pool() as pool:
        result = await pool.invoke(made, request(functions, form="file", path=made.code_dir / "large"))
        pieces, error = await read(result.stream)

    assert (b"".join(pieces), error) == (b"x" * 100_000, None)
