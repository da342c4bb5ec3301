"""Function logs are kept in bounded files, read back and followed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.invoke import logbook
from emulator.services.fc.invoke.logbook import LogBook

HOME = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))


@asynccontextmanager
async def open_book(folder: Path, **options: int) -> AsyncIterator[LogBook]:
    """Open a log book."""
    book = LogBook(folder, HOME, **options)
    try:
        yield book
    finally:
        await book.close()


async def tail_of(book: LogBook, service: str, function: str, lines: int) -> bytes:
    """The last lines of a log."""
    return b"".join([piece async for piece in book.read(HOME, service, function, lines, follow=False)])


async def test_last_lines_come_back(tmp_path: Path):
    """The tail is the last lines, whatever pieces they were written in."""
    async with open_book(tmp_path) as book:
        for index in range(10):
            book.write(HOME, "shop", "order", f"line {index}\n".encode())
        book.write(HOME, "shop", "order", b"half a ")
        book.write(HOME, "shop", "order", b"line\n")

        assert await tail_of(book, "shop", "order", 2) == b"line 9\nhalf a line\n"
        assert await tail_of(book, "shop", "order", 0) == b""
        assert await tail_of(book, "shop", "other", 5) == b""


async def test_carriage_returns_and_unfinished_lines_do_not_count(tmp_path: Path):
    """A progress bar is one line; text without its line feed yet is a line too."""
    async with open_book(tmp_path) as book:
        book.write(HOME, "", "f", b"first\n10%\r20%\r30%\nunfinished")

        assert await tail_of(book, "", "f", 2) == b"10%\r20%\r30%\nunfinished"
        assert await tail_of(book, "", "f", 9) == b"first\n10%\r20%\r30%\nunfinished"


async def test_tenants_have_files_of_their_own(tmp_path: Path):
    """Two functions of one name in two regions do not share a file; who reads all reads those of one tenant."""
    away = HOME._replace(region=Region("cn-shanghai"))
    (tmp_path / "secret.log").write_text("nobody's")
    async with open_book(tmp_path / "a" / "b") as book:
        for tenant, text in ((HOME, b"here\n"), (away, b"there\n")):
            book.write(tenant, "", "order", text)
            book.write(tenant, "shop", "order", text)

        assert await tail_of(book, "shop", "order", 5) == b"here\n"
        for tenant, text in ((HOME, b"here\n"), (away, b"there\n")):
            everything = b"".join([piece async for piece in book.read_all(tenant, 5, follow=False)])
            assert everything == b"order: " + text + b"shop/order: " + text
            assert book.names(tenant) == [("", "order"), ("shop", "order")]
        reader = book.read_all(away, 0, follow=True)
        following = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0)
        await book._ask(lambda: None)
        book.write(HOME, "", "order", b"not this\n")
        book.write(away, "", "order", b"but this\n")
        assert await following == b"order: but this\n"
        await reader.aclose()
        await book.clear()
        assert book.names(away) == []
        assert book.names(HOME._replace(region=Region("/../.."))) == []


async def test_services_and_functions_have_files_of_their_own(tmp_path: Path):
    """A function of 3.0 and one of a service of the same name do not share a file."""
    async with open_book(tmp_path) as book:
        book.write(HOME, "", "order", b"three\n")
        book.write(HOME, "order", "order", b"two\n")

        assert await tail_of(book, "", "order", 5) == b"three\n"
        assert await tail_of(book, "order", "order", 5) == b"two\n"
        assert book.names(HOME) == [("", "order"), ("order", "order")]


async def test_file_is_rotated_and_the_tail_reaches_back_over_it(tmp_path: Path):
    """No file grows beyond its bound by more than one piece; the one before it is kept."""
    async with open_book(tmp_path, file_bytes=100) as book:
        for index in range(40):
            book.write(HOME, "", "f", f"{index:09d}\n".encode())
            if index % 5 == 4:
                await tail_of(book, "", "f", 1)

        assert (await tail_of(book, "", "f", 12)).splitlines()[0] == b"000000028"
        assert (tmp_path / "f.log").stat().st_size <= 100
        assert sorted(path.name for path in tmp_path.iterdir()) == ["f.log", "f.log.1"]


async def test_flood_beyond_the_bound_is_cut_and_says_so(tmp_path: Path):
    """More than the disk can take at once is dropped; the next line that fits tells how much."""
    async with open_book(tmp_path, pending_bytes=1000) as book:
        book.write(HOME, "", "f", b"a" * 900)
        book.write(HOME, "", "f", b"b" * 900)
        await tail_of(book, "", "f", 1)
        book.write(HOME, "", "f", b"after\n")

        text = await tail_of(book, "", "f", 100)

        assert b"b" not in text.replace(b"bytes", b"").replace(b"because", b"").split(b"[localyun]")[0]
        assert b"900 bytes of log were dropped" in text
        assert text.endswith(b"after\n")


async def test_follower_sees_every_line_once_in_order(tmp_path: Path):
    """Following starts with the last lines and goes on with the new ones, without a gap or a repeat."""
    async with open_book(tmp_path) as book:
        book.write(HOME, "", "f", b"1\n2\n")
        seen: list[bytes] = []

        async def follow() -> None:
            async for text in book.read(HOME, "", "f", 1, follow=True):
                seen.append(text)
                if text.endswith(b"5\n"):
                    return

        reader = asyncio.ensure_future(follow())
        await asyncio.sleep(0)
        book.write(HOME, "", "f", b"3\n")
        book.write(HOME, "", "g", b"not mine\n")
        book.write(HOME, "", "f", b"4\n5\n")
        await asyncio.wait_for(reader, 5)

        assert b"".join(seen) == b"2\n3\n4\n5\n"


async def test_following_everything_names_the_function_of_each_line(tmp_path: Path):
    """Lines of different functions can be told apart."""
    async with open_book(tmp_path) as book:
        book.write(HOME, "", "f", b"old\n")
        reader = book.read_all(HOME, 5, follow=True)

        first = await anext(reader)
        book.write(HOME, "shop", "order", b"a\nb\n")
        second = await asyncio.wait_for(anext(reader), 5)
        await reader.aclose()

        assert first == b"f: old\n"
        assert second == b"shop/order: a\nshop/order: b\n"


async def test_slow_follower_is_cut_off_instead_of_filling_the_memory(tmp_path: Path, monkeypatch):
    """A follower that does not read is told so and left behind."""
    monkeypatch.setattr(logbook, "FOLLOWER_CHUNKS", 3)

    async with open_book(tmp_path) as book:
        book.write(HOME, "", "f", b"0\n")
        reader = book.read(HOME, "", "f", 1, follow=True)
        await anext(reader)
        for index in range(10):
            book.write(HOME, "", "f", f"{index}\n".encode())

        texts = [text async for text in reader]

        assert len(texts) == 4
        assert b"cut off" in texts[-1]


async def test_closing_writes_what_is_pending_and_ends_the_followers(tmp_path: Path):
    """Nothing that was logged before the end is lost, and nobody waits for ever."""
    book = LogBook(tmp_path, HOME)
    reader = book.read(HOME, "", "f", 1, follow=True)
    pending = asyncio.ensure_future(anext(reader))
    await asyncio.sleep(0)
    book.write(HOME, "", "f", b"last words\n")
    await asyncio.wait_for(pending, 5)
    book.write(HOME, "", "f", b"really\n")
    await book.close()
    rest = [text async for text in reader]

    assert b"".join(rest) == b"really\n"
    assert (tmp_path / "f.log").read_bytes() == b"last words\nreally\n"


async def test_clearing_removes_every_file(tmp_path: Path):
    """After a reset no log is left, and writing starts anew."""
    async with open_book(tmp_path) as book:
        book.write(HOME, "s", "f", b"x\n")
        await book.clear()

        assert book.names(HOME) == []

        book.write(HOME, "s", "f", b"y\n")

        assert await tail_of(book, "s", "f", 9) == b"y\n"


async def test_lines_that_came_while_no_thread_could_be_started_are_written_later(tmp_path: Path, monkeypatch, caplog):
    """They wait for the next line, or for the end."""
    start = logbook.threading.Thread.start

    def refuse(thread: logbook.threading.Thread) -> None:
        if thread.name == "fc-logs":
            raise RuntimeError("can't start new thread")
        start(thread)

    async with open_book(tmp_path) as book:
        monkeypatch.setattr(logbook.threading.Thread, "start", refuse)
        book.write(HOME, "", "f", b"early\n")
        book._flush()
        monkeypatch.setattr(logbook.threading.Thread, "start", start)

        assert await tail_of(book, "", "f", 5) == b"early\n"

        monkeypatch.setattr(logbook.threading.Thread, "start", refuse)

    assert "can't start new thread" in caplog.text


async def test_closing_without_a_thread_writes_what_waits(tmp_path: Path, monkeypatch):
    """No thread could be started since the first line."""
    async with open_book(tmp_path) as book:
        monkeypatch.setattr(logbook.threading.Thread, "start", lambda thread: (_ for _ in ()).throw(RuntimeError("no")))
        book.write(HOME, "", "f", b"only\n")

    assert (tmp_path / "f.log").read_bytes() == b"only\n"
