"""Packages are unpacked as their makers meant them, and hostile ones not at all."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from emulator.services.fc import limits
from emulator.services.fc.catalog import archive
from emulator.services.fc.catalog.archive import UnsafeArchive, pack, unpack


def zipped(*entries: tuple[str, bytes, int]) -> bytes:
    """Return a zip of (name, content, Unix mode) entries."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as writer:
        for name, content, mode in entries:
            info = zipfile.ZipInfo(name)
            info.filename = name  # the constructor cuts names at NUL
            info.create_system = 3
            info.external_attr = mode << 16
            writer.writestr(info, content)
    return sink.getvalue()


FILE = stat.S_IFREG | 0o644
LINK = stat.S_IFLNK | 0o777


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([("/etc/passwd", b"x", FILE)], id="absolute name"),
        pytest.param([("d/" * 2_000 + "deep.py", b"x", FILE)], id="deep file"),
        pytest.param([("d/" * 2_000, b"", stat.S_IFDIR | 0o755)], id="deep folder"),
        pytest.param([("../out.py", b"x", FILE)], id="parent"),
        pytest.param([("a/../../out.py", b"x", FILE)], id="parent inside"),
        pytest.param([("a\\..\\..\\out.py", b"x", FILE)], id="backslashes"),
        pytest.param([("C:/out.py", b"x", FILE)], id="drive letter"),
        pytest.param([("a//b", b"x", FILE)], id="empty part"),
        pytest.param([("x", b"/etc/passwd", LINK)], id="absolute link"),
        pytest.param([("x", b"../outside", LINK)], id="link to the parent"),
        pytest.param([("d/x", b"../../outside", LINK)], id="link from a folder to outside"),
        pytest.param([("d/e", b"..", LINK), ("x", b"d/e/../outside", LINK)], id="link through a link"),
        pytest.param([("x", b".", LINK), ("x/index.py", b"y", FILE)], id="file below a link"),
        pytest.param([("x", b"", LINK)], id="link to nothing"),
        pytest.param([("x", b"f", FILE), ("x/y", b"f", FILE)], id="file below a file"),
        pytest.param([("null", b"", stat.S_IFCHR | 0o666)], id="character device"),
        pytest.param([("disk", b"", stat.S_IFBLK | 0o666)], id="block device"),
        pytest.param([("pipe", b"", stat.S_IFIFO | 0o666)], id="pipe"),
        pytest.param([("n" * 5000, b"x", FILE)], id="name no file system takes"),
    ],
)
def test_hostile_package_leaves_nothing_behind(tmp_path: Path, entries: list[tuple[str, bytes, int]]):
    """What would reach outside the folder, or is no plain content, is refused and nothing of the package stays."""
    target = tmp_path / "box" / "code"

    with pytest.raises(UnsafeArchive):
        unpack(zipped(("index.py", b"fine", FILE), *entries), target)

    assert not target.exists()
    assert not (tmp_path / "out.py").exists()
    assert not (tmp_path / "box" / "out.py").exists()


def test_too_many_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The number of entries is bounded."""
    monkeypatch.setattr(limits, "CODE_ENTRIES", 3)

    with pytest.raises(UnsafeArchive, match="entries"):
        unpack(zipped(*[(f"f{index}", b"", FILE) for index in range(4)]), tmp_path / "code")


def test_compression_bomb_is_refused_by_its_declared_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A package that says it unpacks to more than the limit is not unpacked."""
    monkeypatch.setattr(limits, "CODE_UNPACKED_BYTES", 1000)

    with pytest.raises(UnsafeArchive, match="1000 bytes"):
        unpack(zipped(("zeros", bytes(2000), FILE)), tmp_path / "code")


@pytest.mark.parametrize("package", [b"", b"no zip at all", b"PK\x03\x04 truncated", b"PK\x05\x06" + b"\xff" * 18])
def test_what_is_no_zip_is_refused(tmp_path: Path, package: bytes):
    """Anything but a zip file is an invalid argument, not a crash."""
    with pytest.raises(UnsafeArchive):
        unpack(package, tmp_path / "code")


def test_damaged_content_is_refused(tmp_path: Path):
    """An entry whose bytes do not match their checksum spoils the package."""
    package = bytearray(zipped(("index.py", b"AAAAAAAA", FILE)))
    package[package.index(b"AAAAAAAA")] ^= 1

    with pytest.raises(UnsafeArchive):
        unpack(bytes(package), tmp_path / "code")

    assert not (tmp_path / "code").exists()


def test_links_empty_folders_and_modes_are_kept(tmp_path: Path):
    """Links inside the package, empty folders and execute bits come out as they were; special bits do not."""
    package = zipped(
        ("bootstrap", b"#!/bin/sh\n", stat.S_IFREG | 0o4755),
        ("nobody", b"x", stat.S_IFREG),
        ("empty/", b"", stat.S_IFDIR | 0o755),
        ("lib/real.so", b"elf", FILE),
        ("lib/link.so", b"real.so", LINK),
        ("./dotted.py", b"y", FILE),
    )

    unpack(package, tmp_path / "code")

    code = tmp_path / "code"
    assert stat.S_IMODE((code / "bootstrap").stat().st_mode) == 0o755
    assert os.access(code / "nobody", os.R_OK)
    assert (code / "empty").is_dir()
    assert (code / "lib" / "link.so").is_symlink()
    assert (code / "lib" / "link.so").read_bytes() == b"elf"
    assert (code / "dotted.py").read_bytes() == b"y"


def test_package_of_the_official_packer_unpacks(tmp_path: Path):
    """What the classic client makes of a folder with links and empty folders comes out again."""
    util = pytest.importorskip("fc2.util")
    source = tmp_path / "source"
    (source / "pkg").mkdir(parents=True)
    (source / "void").mkdir()
    (source / "pkg" / "mod.py").write_text("x = 1")
    (source / "index.py").symlink_to("pkg/mod.py")
    sink = io.BytesIO()
    util.zip_dir(str(source), sink)

    unpack(sink.getvalue(), tmp_path / "code")

    assert (tmp_path / "code" / "index.py").read_text() == "x = 1"
    assert (tmp_path / "code" / "void").is_dir()


def test_packing_a_folder_depends_on_its_content_only(tmp_path: Path):
    """Two folders of the same content give the same bytes; caches and left-out entries are not in them."""
    packages = []
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "__pycache__").mkdir(parents=True)
        (folder / "__pycache__" / f"{name}.pyc").write_bytes(b"x")
        (folder / "versions").mkdir()
        (folder / "sub").mkdir()
        (folder / "sub" / "a.py").write_text("a")
        (folder / "index.py").write_text("i")
        packages.append(pack(folder, frozenset({"versions"})))

    with zipfile.ZipFile(io.BytesIO(packages[0])) as archive_read:
        names = archive_read.namelist()

    assert packages[0] == packages[1]
    assert names == ["index.py", "sub/a.py"]


def test_packed_folder_unpacks_to_the_same(tmp_path: Path):
    """Packing and unpacking is the identity for files, links and modes."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "run.sh").write_text("#!/bin/sh")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("run.sh")

    archive.unpack(pack(folder), tmp_path / "copy")

    assert (tmp_path / "copy" / "link").readlink() == Path("run.sh")
    assert os.access(tmp_path / "copy" / "run.sh", os.X_OK)
