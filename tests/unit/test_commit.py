"""The commit that figures are of is named, and whether files have changed since."""

import subprocess

from tests.commit import commit


def git(folder, *words):
    identity = ["-c", "user.name=n", "-c", "user.email=e@localhost"]
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    ).stdout.strip()


def test_commit_is_named_with_a_plus_for_changes(tmp_path):
    """Also where a tag names it: figures of one tag and of the commits after it look alike."""
    (tmp_path / "file").write_text("one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "-am", "v1", "v1.0.0")
    name = git(tmp_path, "rev-parse", "HEAD")

    clean = commit(tmp_path)
    (tmp_path / "file").write_text("two")

    assert name.startswith(clean)
    assert len(clean) == 8
    assert commit(tmp_path) == f"{clean}+"


def test_files_without_a_repository_have_no_commit(tmp_path, monkeypatch):
    """A benchmark of a copy tells its figures all the same."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert commit(tmp_path) == "unknown"
