"""The log of a call: markers, lines of user code, summary, and where each byte goes."""

import base64
import re

import pytest

from emulator.services.fc.runtime import logs


def test_tail_is_the_last_4096_bytes_in_base64():
    """Longer logs lose their beginning."""
    assert base64.b64decode(logs.tail(b"a" * 10 + b"b" * 4096)) == b"b" * 4096
    assert logs.tail(b"short") == "c2hvcnQ="


def test_summary_has_two_decimals_and_bills_started_milliseconds():
    """The line follows an empty one."""
    assert logs.summary(16.811, 128, 52.318) == (
        b"\nDuration: 16.81 ms, Billed Duration: 17 ms, Memory Size: 128 MB, Max Memory Used: 52.32 MB\n"
    )


@pytest.mark.parametrize(("value", "text"), [(49.0, "49"), (47.284, "47.28"), (37.5, "37.5"), (0, "0")])
def test_sizes_in_messages_have_no_superfluous_zeros(value, text):
    """Failure messages show 49MB and 47.28MB."""
    assert logs.megabytes(value) == text


def test_call_log_keeps_its_end_and_passes_everything_on():
    """Memory is bounded by twice the limit, the listener sees every byte."""
    seen = []
    log = logs.CallLog(100, seen.append)

    for number in range(1000):
        log.add(b"%04d\n" % number)

    assert log.content() == b"".join(b"%04d\n" % number for number in range(980, 1000))
    assert len(b"".join(seen)) == 5000


async def test_cold_failing_call_logs_banner_markers_error_and_summary(functions):
    """The whole slice of a first call with an initializer and an exception, line by line."""
    result = await functions.call(
        """
        import logging
        def setup(context):
            pass
        def handler(event, context):
            logging.getLogger().info("before the %s", "failure")
            raise ValueError("boom")
        """,
        initializer="index.setup",
    )

    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    expected = (
        r"FunctionCompute python3 runtime inited\.\n"
        r"FC Initialize Start RequestId: request-1\n"
        r"FC Initialize End RequestId: request-1\n"
        r"FC Invoke Start RequestId: request-1\n"
        rf"{stamp} request-1 \[INFO\] before the failure\n"
        rf"{stamp} request-1 \[ERROR\] {re.escape(result.body.decode())}\n"
        r"FC Invoke End RequestId: request-1, Error: Unhandled function error\n"
        r"\n"
        r"Duration: \d+\.\d\d ms, Billed Duration: \d+ ms, Memory Size: 128 MB, Max Memory Used: \d+\.\d\d MB\n"
    )
    assert re.fullmatch(expected, result.log.decode())
    assert functions.logged("request-1") == result.log


async def test_a_call_that_goes_on_shows_that_it_has_begun(functions):
    """Its first line is passed on while it runs; a short silent call is passed on in one piece."""
    image = functions.image("import time\ndef handler(event, context): time.sleep(float(event))")

    async with functions.pool() as pool:
        for event in (b"0", b"0", b"0.4"):
            await pool.invoke(image, functions.invocation(event))

    pieces = {request: [data for about, data in functions.log if about == request] for request, _ in functions.log}
    assert len(pieces["request-2"]) == 1
    assert pieces["request-3"][0] == b"FC Invoke Start RequestId: request-3\n"
    assert pieces["request-3"][1].startswith(b"FC Invoke End RequestId: request-3\n\nDuration: ")


async def test_warm_call_logs_only_its_own_lines(functions):
    """Markers, what was printed, summary; no banner."""
    image = functions.image("def handler(event, context): print('said', event.decode())")

    second = (await functions.calls(image, b"one", b"two"))[1]

    assert second.log.startswith(
        b"FC Invoke Start RequestId: request-2\nsaid two\nFC Invoke End RequestId: request-2\n\n"
    )


async def test_output_of_every_kind_belongs_to_the_call(functions):
    """print, stderr, raw descriptors and subprocesses are caught, in the order they were written."""
    result = await functions.call(
        """
        import logging, os, subprocess, sys
        def handler(event, context):
            print("printed")
            print("to stderr", file=sys.stderr)
            os.write(1, b"raw\\n")
            subprocess.run(["echo", "from a subprocess"], check=True)
            print("no newline", end="")
            logging.getLogger("mine").warning("logged")
            context.logger.error("by context")
            context.getLogger().debug("not shown")
        """
    )

    body = result.log.decode().split("Start RequestId: request-1\n")[1].split("FC Invoke End")[0]
    lines = re.sub(r"\d{4}-\S+Z", "T", body).splitlines()
    assert lines == [
        "printed",
        "to stderr",
        "raw",
        "from a subprocess",
        "no newlineT request-1 [WARNING] logged",
        "T request-1 [ERROR] by context",
    ]


async def test_log_level_follows_the_functions_variable(functions):
    """FC_SERVER_LOG_LEVEL sets the level of the root logger and is not shown to the function."""
    result = await functions.call(
        """
        import logging, os
        def handler(event, context):
            logging.debug("fine detail")
            return os.environ.get("FC_SERVER_LOG_LEVEL", "hidden")
        """,
        environment={"FC_SERVER_LOG_LEVEL": "DEBUG"},
    )

    assert b"[DEBUG] fine detail\n" in result.log
    assert result.body == b"hidden"


async def test_logged_exception_is_followed_by_its_traceback(functions):
    """logger.exception works as anywhere."""
    result = await functions.call(
        """
        import logging
        def handler(event, context):
            try:
                1 / 0
            except ZeroDivisionError:
                logging.exception("failed")
        """
    )

    assert b"[ERROR] failed\nTraceback (most recent call last):\n" in result.log
    assert b"ZeroDivisionError: division by zero\nFC Invoke End" in result.log


async def test_one_record_is_cut_at_128_kib(functions):
    """A longer line is cut and still ends with a newline."""
    image = functions.image("import logging\ndef handler(event, context): logging.info('x' * 300000)")

    await functions.calls(image, b"", log_limit=1024 * 1024)

    line = functions.logged("request-1").split(b"Start RequestId: request-1\n")[1].split(b"\nFC Invoke End")[0]
    assert len(line) == 128 * 1024 - 1


async def test_python_2_runtime_warns_once_and_gets_text(functions):
    """Old sources run on Python 3: the event is text there, and the log says what runs."""
    image = functions.image("def handler(event, context): return type(event).__name__", runtime="python2.7")

    first, second = await functions.calls(image, b"x", b"y")

    assert first.body == b"str"
    assert first.log.count(b"python2.7 runs on Python 3 here") == 1
    assert b"python2.7" not in second.log
