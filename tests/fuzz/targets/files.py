"""Files that users write: function.yml, localyun.yaml, code packages."""

import os
import stat
import tempfile
import warnings
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from emulator.config import ConfigError, load
from emulator.deploy.localyun_yaml import Declarations, check, root_of
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.catalog import archive
from emulator.services.fc.catalog.folder import FolderReader

_WORLD = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))


def function_folder(data: bytes) -> None:
    """A folder whose yml files hold anything is read: what cannot be used is a problem, never an exception."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "functions")
        for path in ("hello/function.yml", "shop/service.yml", "shop/Order/function.yml"):
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        snapshot = FolderReader(root).read()

    assert [function.name for function in snapshot.functions] == ["hello", "Order"]
    for function in snapshot.functions:
        assert isinstance(function.problem, str)


def settings(data: bytes) -> None:
    """A localyun.yaml is read, with what it declares, or refused with a ConfigError."""
    with tempfile.TemporaryDirectory() as name:
        Path(name, "localyun.yaml").write_bytes(data)
        try:
            root = root_of(load({}, {}, Path(name)).config)
            Declarations(root, _WORLD)
            check(root.findings)
        except ConfigError as error:
            assert "localyun.yaml" in str(error)


def package(data: bytes) -> None:
    """A package is unpacked below its folder, or refused and leaves nothing.

    Input that begins with ``PK`` is the package itself; any other describes one, an entry per line:
    ``MODE NAME CONTENT`` with the mode in octal digits.
    """
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        target = root / "code"
        content = data if data.startswith(b"PK") else _package_of(data, root / "package.zip")
        outside = set(root.iterdir())
        try:
            archive.unpack(content, target)
        except archive.UnsafeArchive as error:
            error.message.encode("utf-8", "surrogateescape")
            assert not target.exists()
        else:
            inside = Path(os.path.realpath(target))
            for path in target.rglob("*"):
                assert Path(os.path.realpath(path)).is_relative_to(inside)
            assert set(root.iterdir()) == outside | {target}


def _package_of(data: bytes, place: Path) -> bytes:
    with ZipFile(place, "w") as made:
        for line in data.split(b"\n"):
            mode, _, rest = line.partition(b" ")
            entry, _, content = rest.partition(b" ")
            info = ZipInfo()
            info.filename = info.orig_filename = entry.decode("utf-8", "replace")
            info.create_system = 3
            bits = int(mode[:6], 8) if mode[:6].isdigit() and not set(mode[:6]) & set(b"89") else stat.S_IFREG | 0o644
            info.external_attr = (bits & 0xFFFF) << 16
            with warnings.catch_warnings(action="ignore"):  # two entries of one name are an input like any other
                made.writestr(info, content)
    return place.read_bytes()
