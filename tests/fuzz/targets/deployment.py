"""Deployment files and permission policies."""

import contextlib
import tempfile
from pathlib import Path
from unittest import mock

from emulator.auth.policy import MalformedPolicy, parse_policy, parse_trust_policy
from emulator.deploy import planner
from emulator.deploy.files import Files
from emulator.deploy.model import FileProblems, Target
from emulator.deploy.places import Findings, whole

_WORLD = Target(account="123456", region="cn-hangzhou", endpoint="http://127.0.0.1:8868", name="app")


class _ConfinedFiles(Files):
    """Finds nothing outside the folder: a made-up path could be that of a whole disk."""

    def _path(self, part):
        found = super()._path(part)
        return found if found is not None and found.is_relative_to(self.folder.resolve()) else None


def template(data: bytes) -> None:
    """A template or s.yaml is a blueprint, or refused with problems that have a line of it."""
    text = data.decode("utf-8", "surrogateescape")
    with tempfile.TemporaryDirectory() as name, mock.patch.object(planner, "Files", _ConfinedFiles):
        folder = Path(name)
        (folder / "code").mkdir()
        (folder / "code" / "index.py").write_text("")
        try:
            root = whole(text, Findings())
            planner.project_name(root, Path("project"))
            planner.read(root, _WORLD, folder, {}, {"NAME": "value"})
        except FileProblems as error:
            assert str(error)


def policy(data: bytes) -> None:
    """A policy document is read, or refused as malformed."""
    text = data.decode("utf-8", "surrogateescape")
    for parse in (parse_policy, parse_trust_policy):
        with contextlib.suppress(MalformedPolicy):
            parse(text)
