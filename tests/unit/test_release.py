"""dev.py release: versions, the changelog of the first release and of later ones, sums, signatures."""

import hashlib
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import release

ROOT = Path(__file__).parents[2]

PAGE = """# Changelog

Changes that are not released yet are in `changes/`, one file each.

## Unreleased

Nothing has been released yet. The first release will be 1.0.0. This is what it offers, by user.

**You test it.** It works.
"""

needs_openssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed")


@pytest.fixture(autouse=True)
def day(monkeypatch):
    """All commits are of one day, and no program is built or tried."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "n")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "e@localhost")
        monkeypatch.setenv(f"GIT_{who}_DATE", "2030-01-02T12:00:00Z")
    monkeypatch.setattr(release, "build", lambda root: None)


@pytest.fixture
def tree(tmp_path):
    """A project that was never released, with two fragments, all of it committed."""
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator" / "__init__.py").write_text('"""About."""\n\n__version__ = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(PAGE)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("How it is done.\n")
    fragment(tmp_path, "queues.added.md", "Queues\nare there.\n")
    fragment(tmp_path, "wait.fixed.md", "No wait.\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def fragment(tree, name, text):
    """Add a fragment to *tree*."""
    (tree / "changes" / name).write_text(text)


def git(tree, *words):
    """Run git in *tree*."""
    subprocess.run(["git", *words], cwd=tree, check=True)


def commit(tree):
    """Commit everything in *tree*."""
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "all")


def files(tree):
    """Return what a release may change, by path."""
    paths = [tree / "CHANGELOG.md", tree / "emulator" / "__init__.py", *(tree / "changes").iterdir()]
    return {path.relative_to(tree).as_posix(): path.read_text() for path in paths}


def test_first_release_is_the_page_and_its_fragments_are_gone(tree):
    """They tell of changes to what nobody had."""
    assert release.main(["1.0.0"], tree) == 0

    assert files(tree) == {
        "CHANGELOG.md": (
            "# Changelog\n\nChanges that are not released yet are in `changes/`, one file each.\n\n## Unreleased\n\n"
            "## 1.0.0 - 2030-01-02\n\nThe first release, and what it offers to whom.\n\n"
            "**You test it.** It works.\n"
        ),
        "emulator/__init__.py": '"""About."""\n\n__version__ = "1.0.0"\n',
        "changes/README.md": "How it is done.\n",
    }


def test_second_release_gathers_its_fragments(tree):
    """By kind in the changelog's order, above the release before."""
    release.main(["1.0.0"], tree)
    fragment(tree, "wait.fixed.md", "No wait.\n")
    fragment(tree, "topics.added.md", "Topics\nare there.\n")
    fragment(tree, "arm.added.md", "Arm.\n")
    commit(tree)

    assert release.main(["1.1.0"], tree) == 0

    text = files(tree)["CHANGELOG.md"]
    assert text.partition("## Unreleased\n")[2].startswith(
        "\n## 1.1.0 - 2030-01-02\n\n### Added\n\n- Arm.\n- Topics are there.\n\n### Fixed\n\n- No wait.\n"
        "\n## 1.0.0 - 2030-01-02\n\nThe first release, and what it offers to whom."
    )
    assert list(files(tree)) == ["CHANGELOG.md", "emulator/__init__.py", "changes/README.md"]


def test_what_is_written_as_unreleased_stands_above_the_fragments(tree):
    """A release may be introduced by hand."""
    release.main(["1.0.0"], tree)
    changelog = tree / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased\n", "## Unreleased\n\nTopics, at last.\n"))
    fragment(tree, "topics.added.md", "Topics.\n")
    commit(tree)

    release.main(["1.1.0"], tree)

    assert (
        "\n\n## 1.1.0 - 2030-01-02\n\nTopics, at last.\n\n### Added\n\n- Topics.\n\n## 1.0.0" in changelog.read_text()
    )


def test_release_without_changes_is_refused(tree, capfd):
    """Nothing is written."""
    release.main(["1.0.0"], tree)
    commit(tree)
    before = files(tree)

    assert release.main(["1.0.1"], tree) == 1

    assert "there are no changes to release" in capfd.readouterr().err
    assert files(tree) == before


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("0.1.0", "0.1.0 is not newer than 0.1.0"),
        ("0.0.9", "0.0.9 is not newer than 0.1.0"),
        *((bad, f"{bad!r} is no version such as 1.0.1") for bad in (
            "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0rc1", "1.0.0.dev1", "1.0.0.post1", "1.0.0+local", "1!1.0.0", ""
        )),
    ],
)  # fmt: skip
def test_version_is_a_final_release_that_is_newer(tree, capfd, version, reason):
    """Nothing is written for what is not."""
    before = files(tree)

    assert release.main([version], tree) == 1

    assert capfd.readouterr().err.startswith(f"dev.py release: {reason}")
    assert files(tree) == before


@pytest.mark.parametrize("words", [["1.0.0"], ["--check"]])
def test_tree_that_is_not_tidy_is_refused(tree, capfd, words):
    """The files are named."""
    (tree / "forgotten.py").write_text("")
    before = files(tree)

    assert release.main(words, tree) == 1

    assert "?? forgotten.py" in capfd.readouterr().err
    assert files(tree) == before


def test_tree_outside_of_a_repository_is_refused(tmp_path, capfd, monkeypatch):
    """What is not under version control cannot be tidy."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert release.main(["--check"], tmp_path) == 1

    assert "not a git repository" in capfd.readouterr().err


def test_changelog_of_this_project_can_be_released(tmp_path):
    """The sentence that the first release changes is there, or was changed by it."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    released = release.with_release(text, "99.0.0", "2030-01-02", {"added": ["Something."]})

    assert "\n## 99.0.0 - 2030-01-02\n\n" in released
    assert "been released yet" not in released
    assert release.FIRST[1] in released


@pytest.fixture
def dist(tree):
    """The tree's archives, with their sums."""
    folder = tree / "dist"
    folder.mkdir()
    (folder / "b.whl").write_bytes(b"wheel")
    (folder / "a.tar.gz").write_bytes(b"sdist")
    release.write_sums(folder)
    return folder


def test_sums_are_of_every_archive_as_sha256sum_has_them(dist):
    """By name, and again the same beside a signature."""
    written = (dist / release.SUMS).read_text()
    (dist / f"{release.SUMS}.sig").write_text("signature")
    release.write_sums(dist)

    assert written == "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n"
        for name, content in (("a.tar.gz", b"sdist"), ("b.whl", b"wheel"))
    )
    assert (dist / release.SUMS).read_text() == written


@pytest.fixture
def key(tree, tmp_path_factory):
    """A key for this test alone, whose public half is among the signers."""
    path = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me@here", "-f", str(path)], check=True)
    (tree / "tools").mkdir()
    (tree / "tools" / "signers").write_text(
        f'# keys\nlocalyun namespaces="file" {path.with_suffix(".pub").read_text()}'
    )
    return path


@needs_openssh
def test_signature_is_one_that_users_can_verify(tree, dist, key):
    """With the words of SECURITY.md; not for other sums."""
    assert release.main(["--sign", str(key)], tree) == 0

    lines = [line.strip() for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()]
    verify = next(line for line in lines if line.startswith("ssh-keygen -Y verify")).replace(
        "-f signers", f"-f {shlex.quote(str(tree / 'tools' / 'signers'))}"
    )
    assert typed(verify, dist) == (0, True)
    with (dist / release.SUMS).open("a") as sums:
        sums.write("more\n")
    assert typed(verify, dist)[0] != 0


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not installed")
def test_sums_are_checked_as_the_page_says(dist):
    """Also by who has downloaded one archive only; another content fails."""
    lines = [line.strip() for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()]
    check = next(line for line in lines if line.startswith("sha256sum --check"))
    (dist / "a.tar.gz").unlink()

    assert typed(check, dist)[0] == 0
    (dist / "b.whl").write_bytes(b"another")
    assert typed(check, dist)[0] != 0


def typed(line, folder):
    """Type *line* in a shell; return its exit code, and whether it answers as SECURITY.md says of signatures."""
    done = subprocess.run(line, shell=True, cwd=folder, check=False, capture_output=True, encoding="utf-8")
    return done.returncode, done.stdout.startswith('Good "file" signature for localyun')


@needs_openssh
def test_key_that_is_not_among_the_signers_leaves_no_signature(tree, dist, key, capfd):
    """The line to add is told."""
    (tree / "tools" / "signers").write_text("# none\n")

    assert release.main(["--sign", str(key)], tree) == 1

    line = f'localyun namespaces="file" {" ".join(key.with_suffix(".pub").read_text().split()[:2])}\n'
    assert line in capfd.readouterr().err
    assert not (dist / f"{release.SUMS}.sig").exists()


@needs_openssh
def test_archives_that_have_changed_are_not_signed(tree, dist, key, capfd):
    """What was tried is what is signed."""
    (dist / "b.whl").write_bytes(b"another")

    assert release.main(["--sign", str(key)], tree) == 1

    assert "dist/ has changed since its sums were written" in capfd.readouterr().err
    assert not (dist / f"{release.SUMS}.sig").exists()


def test_nothing_to_sign_is_told(tree, capfd):
    """With what makes it."""
    assert release.main(["--sign", "key"], tree) == 1
    assert "dev.py release --check makes them" in capfd.readouterr().err


def test_pythons_are_those_that_the_package_names(tmp_path, monkeypatch, capfd):
    """One of each version, where it is installed; others are told."""
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nclassifiers = ["Programming Language :: Python :: 3", "Programming Language :: Python :: 3.98", '
        '"Programming Language :: Python :: 3.99", "Programming Language :: Python :: Implementation :: CPython"]\n'
    )
    python = tmp_path / "python3.98"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert release.pythons(tmp_path) == [str(python)]
    assert capfd.readouterr().out == "not tried with Python 3.99, which is not on this machine\n"
