"""Files that a deployment file refers to: code as zip packages, definitions as text; and writing them.

A folder is packed so that the same files give the same bytes: names sorted, times fixed. That is how a later
deployment sees that nothing has changed. A package is written as a folder where packing it again gives the same, else
as the archive itself.

A path in the deployment file is read wherever it leads; a symbolic link is followed only to files in the project, so
that nobody packs a file of the machine without having named it. Where `Findings.within` is set, nothing outside of that
folder is read, nor the emulator's own state in it.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path, PurePath, PurePosixPath
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from emulator.deploy.places import LocatedValue
from emulator.kernel.bounds import STATE, is_within
from emulator.kernel.phrases import Phrase, phrase

_ARCHIVES = frozenset({".zip", ".jar", ".war"})
_LEFT_OUT = frozenset({"__pycache__", ".git", ".svn", ".hg", ".DS_Store", STATE, ".fun", ".s"})
_BUILDERS = {
    "Funfile": "fun build",
    "Makefile": "make",
    "pom.xml": "mvn package",
    "build.gradle": "gradle build",
    "go.mod": "go build",
    "package.json": "npm run build",
}
"""Files that describe how code is built, and the command that builds it."""

_LONGEST_DEFINITION = 4 * 1024 * 1024
LARGEST_PACKAGE = 500 * 1024 * 1024
"""The most bytes of files in a package."""
_MOST_FILES = 100_000
"""The most files in a package; folders that link to one another would have more."""


class Files:
    """Reads the files that the deployment file in *folder* refers to; paths are relative to that folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._project = _project_of(folder.resolve())
        self.built_by: list[str] = []
        """The commands that the deployment file has for building the code that is read next."""
        self._packages: dict[Path, bytes] = {}

    def package(self, part: LocatedValue) -> bytes | None:
        """Return the zip of the folder, file or archive named by a part; a missing one is a problem."""
        path = self._path(part)
        if path is None:
            return None
        if path not in self._packages:
            try:
                self._packages[path] = _packed(path, part.findings.within or self._project)
            except OSError as error:
                part.problem(
                    Phrase(
                        "{path} cannot be read: {reason}", path=part.value, reason=phrase(error.strerror or str(error))
                    )
                )
                return None
            except ValueError as error:
                part.problem(Phrase("{name}: {problem}", name=part.value, problem=str(error)))
                return None
        return self._packages[path]

    def text(self, part: LocatedValue, *, conceal: bool = False) -> str | None:
        """Return the text of the file named by a part; one that cannot be read is a problem.

        With *conceal*, and when the file is outside the project, no message repeats the text.
        """
        path = self._path(part)
        if path is None:
            return None
        try:
            if path.stat().st_size > _LONGEST_DEFINITION:
                part.problem(
                    Phrase(
                        "{path} is larger than {most} bytes",
                        path=part.value,
                        most=_LONGEST_DEFINITION,
                    )
                )
                return None
            text = path.read_text(encoding="utf-8")
            if conceal or not path.is_relative_to(self._project):
                part.findings.conceal(str(part.value), text)
            return text
        except (OSError, UnicodeDecodeError) as error:
            part.problem(
                Phrase(
                    "{path} cannot be read: {reason}",
                    path=part.value,
                    reason=phrase(getattr(error, "strerror", None) or str(error)),
                )
            )
            return None

    def _path(self, part: LocatedValue) -> Path | None:
        name = part.text()
        if not name:
            return None
        try:
            written = Path(os.path.normpath(self.folder.resolve() / Path(name).expanduser()))
            path = written.resolve()
            if path.exists():
                if written.is_relative_to(self._project) and not path.is_relative_to(self._project):
                    part.problem(_leads_out(name))
                    return None
                if (within := part.findings.within) and not is_within(path, within):
                    part.problem(Phrase("{name} is outside of {folder}", name=name, folder=within))
                    return None
                return path
        except (OSError, ValueError, RuntimeError):
            pass
        part.problem(Phrase("there is no {name} beside the file", name=name), self._how_to_build(name))
        return None

    def _how_to_build(self, name: str) -> str:
        """Return the hint, for a message, about code that has not been built yet."""
        if self.built_by:
            commands = "; ".join(self.built_by)
            return Phrase(
                "; the file builds it with: {commands} (localyun deploy --run-actions runs that)", commands=commands
            )
        place = Path(os.path.normpath(self.folder / name)).parent
        while place.is_relative_to(self.folder):
            for file, command in _BUILDERS.items():
                if (place / file).is_file():
                    if place == self.folder:
                        return Phrase("; {file} builds it: {command}", file=file, command=command)
                    inner = place.relative_to(self.folder)
                    return Phrase("; {file} in {folder} builds it: {command}", file=file, folder=inner, command=command)
            place = place.parent
        return ""


def _leads_out(name: str) -> str:
    return Phrase("{name}: the link points outside the project; copy the files into the project", name=name)


def _project_of(folder: Path) -> Path:
    """Return the root of the repository that *folder* is in, unless that is the home folder; else the folder."""
    home = Path.home() if "HOME" in os.environ else None
    for place in (folder, *folder.parents):
        if place == home:
            break
        if (place / ".git").exists():
            return place
    return folder


def _packed(path: Path, project: Path) -> bytes:
    """Return the zip of a folder, a file or an archive.

    Raises: ValueError for a link that leads out of the folder and of the *project*, and for a package that is too
    large.
    """
    if path.is_file() and path.suffix.lower() in _ARCHIVES:
        return path.read_bytes()
    files = [path] if path.is_file() else sorted(_files_of(path, (path, project)))
    root = path.parent if path.is_file() else path
    archive = BytesIO()
    size = 0
    with ZipFile(archive, "w", ZIP_DEFLATED) as target:
        for each in files:
            content = each.read_bytes()
            size += len(content)
            if size > LARGEST_PACKAGE:
                raise ValueError(Phrase("more than {most} bytes of code", most=LARGEST_PACKAGE))
            entry = ZipInfo(each.relative_to(root).as_posix())
            runnable = each.stat().st_mode & stat.S_IXUSR
            entry.external_attr = (stat.S_IFREG | (0o755 if runnable else 0o644)) << 16
            entry.compress_type = ZIP_DEFLATED
            target.writestr(entry, content)
    return archive.getvalue()


def _files_of(folder: Path, roots: tuple[Path, ...]) -> list[Path]:
    files = []
    for path in _walked(folder, folder, roots, ()):
        files.append(path)
        if len(files) > _MOST_FILES:
            raise ValueError(Phrase("more than {most} files of code", most=_MOST_FILES))
    return files


def _walked(top: Path, place: Path, roots: tuple[Path, ...], above: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the files below *place*, following links; *above* are the enclosing folders, to detect cycles."""
    here = place.resolve()
    if here in above:
        return
    for path in sorted(place.iterdir()):
        if path.name in _LEFT_OUT or path.suffix == ".pyc":
            continue
        if path.is_symlink() and not any(path.resolve().is_relative_to(root) for root in roots):
            raise ValueError(_leads_out(path.relative_to(top).as_posix()))
        if path.is_dir():
            yield from _walked(top, path, roots, (*above, here))
        elif path.is_file():
            yield path


def _is_left_out(path: PurePath) -> bool:
    """Whether packing a folder leaves out the file at *path* in it."""
    return not _LEFT_OUT.isdisjoint(path.parts) or path.suffix == ".pyc"


def packed_text(name: str, text: str) -> bytes:
    """Return the zip of one file with that *text*."""
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as target:
        target.writestr(ZipInfo(name), text.encode("utf-8", "replace"))
    return archive.getvalue()


Content = Mapping[str, tuple[bytes, bool]]
"""The files of a package by name: their bytes, and whether they are executable."""


def unpacked(package: bytes) -> Content:
    """Return the files of a zip; none for an invalid or too large one."""
    try:
        with ZipFile(BytesIO(package)) as archive:
            rows = [row for row in archive.infolist() if not row.is_dir()]
            if sum(row.file_size for row in rows) > LARGEST_PACKAGE:
                return {}
            return {row.filename: (archive.read(row), bool(row.external_attr >> 16 & stat.S_IXUSR)) for row in rows}
    except (BadZipFile, OSError, ValueError, RuntimeError, NotImplementedError, EOFError):
        return {}


def same_code(one: bytes | None, other: bytes | None) -> bool:
    """Whether two packages have the same files, however they were packed."""
    if one is None or other is None or one == other:
        return one == other
    mine = unpacked(one)
    return bool(mine) and mine == unpacked(other)


def other_files(one: bytes, other: bytes | None) -> dict[str, tuple[bool, bool]]:
    """Return, in order, the files in which two packages differ: whether each is in the first and in the second."""
    mine, theirs = unpacked(one), unpacked(other or b"")
    names = sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
    return {name: (name in mine, name in theirs) for name in names}


def write_package(package: bytes, folder: Path, name: str) -> str:
    """Write a package as folder ``folder/name`` or archive ``folder/name.zip``, and return which."""
    files = unpacked(package)
    if not files or not all(map(_is_plain, files)) or _has_links(package):
        (folder / f"{name}.zip").write_bytes(package)
        return f"{name}.zip"
    for path, (text, runnable) in files.items():
        target = folder / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
        target.chmod(0o755 if runnable else 0o644)
    return name


def _is_plain(name: str) -> bool:
    """Whether a file can be written below a folder and is packed again with the folder."""
    path = PurePosixPath(name)
    safe = (
        not path.is_absolute() and ".." not in path.parts and "\\" not in name and ":" not in name and "\0" not in name
    )
    return safe and str(path) == name and not _is_left_out(path)


def _has_links(package: bytes) -> bool:
    with ZipFile(BytesIO(package)) as archive:
        return any(stat.S_ISLNK(row.external_attr >> 16) for row in archive.infolist())
