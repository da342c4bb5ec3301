"""The library for programs that only a C library leads: built once, in front of others, refused with a reason."""

import platform
import shutil
import sys

import pytest

from emulator.redirect.compiled_hooks import PRELOAD_VARIABLE, CannotBuild, with_preload

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the library is for Linux")
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler here"
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder for what is built."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "localyun"


@needs_compiler
def test_the_library_is_built_once_and_comes_first(cache, monkeypatch):
    """What the variable held stays behind it; later runs need no compiler."""
    built = with_preload({"A": "b", PRELOAD_VARIABLE: "/other.so"})
    [library] = cache.iterdir()
    monkeypatch.setenv("PATH", str(cache))

    again = with_preload({})

    assert built == {"A": "b", PRELOAD_VARIABLE: f"{library} /other.so"}
    assert again == {PRELOAD_VARIABLE: str(library)}
    assert platform.machine() in library.name
    assert library.read_bytes().startswith(b"\x7fELF")


def test_a_machine_without_a_compiler_is_told_what_to_install(cache, monkeypatch):
    monkeypatch.setenv("PATH", str(cache))

    with pytest.raises(CannotBuild, match="no C compiler"):
        with_preload({})


def test_what_the_compiler_complains_of_is_passed_on(cache, monkeypatch, tmp_path):
    """And nothing is left behind."""
    compiler = tmp_path / "bin" / "cc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\necho no such header >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{compiler.parent}:/usr/bin:/bin")

    with pytest.raises(CannotBuild, match="no such header"):
        with_preload({})

    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_the_reason(cache, monkeypatch, tmp_path):
    (tmp_path / "localyun").write_text("in the way")
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/cc")

    with pytest.raises(CannotBuild, match="localyun"):
        with_preload({})


def test_other_systems_have_no_such_variable(cache, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(CannotBuild, match="needs Linux, and this is darwin"):
        with_preload({})
