"""``init``: a small project to begin with: a function, its deployment file, a test, settings for git and editors.

The files are in ``emulator/cli/projects``, a folder for each template and two shared ones. Their names end in ``.in``,
so that no tool takes them for files of this program; ``dot-`` stands for a dot.
"""

import shlex
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from emulator.cli.output import DONE, CommandFailed, _, reason_of, say, say_json, wants_json
from emulator.config import Settings
from emulator.kernel.names import PROJECT, fitted

_PROJECTS = Path(__file__).parents[1] / "projects"
_SCHEMAS = Path(__file__).parents[2] / "schemas"
_PARTS = {
    "python": ("common", "pytest", "python"),
    "node": ("common", "node"),
    "flow": ("common", "pytest", "flow"),
    "queue-worker": ("common", "pytest", "queue-worker"),
}
_FIRST_CALLS = {
    "python": ('localyun invoke hello --event \'{"name": "Ada"}\'',),
    "node": ('localyun invoke hello --event \'{"name": "Ada"}\'',),
    "flow": ("localyun flow start doubling --input '{\"number\": 21}' --follow",),
    "queue-worker": ("localyun queue send orders first", "localyun logs worker"),
}


def run(arguments: Namespace, settings: Settings) -> int:
    """Write the files of a template into a folder, all of them or none.

    Raises: CommandFailed when one of them exists or cannot be written.
    """
    folder = Path(arguments.folder)
    files = project(arguments.template, fitted(folder.resolve().name or "project", PROJECT))
    if there := next((name for name in files if (folder / name).exists()), None):
        text = _("{folder} already contains {name}; nothing was written")
        raise CommandFailed(text.format(folder=folder, name=there))
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(_("{file} cannot be written: {reason}", file=folder, reason=reason_of(error))) from error
    tests = ["npm test"] if "package.json" in files else ["pytest"]
    if tests == ["pytest"] and find_spec("pytest") is None:
        tests.insert(0, "pip install 'localyun[testing]'")
    if wants_json(arguments):
        say_json({"folder": str(folder.resolve()), "template": arguments.template, "files": sorted(files)})
        return DONE
    for name in sorted(files):
        say(str(folder / name))
    say(_("\nnext:"))
    steps = ["localyun start --detach", "localyun deploy", *_FIRST_CALLS[arguments.template], *tests]
    for step in ([f"cd {shlex.quote(arguments.folder)}"] if arguments.folder != "." else []) + steps:
        say(f"  {step}")
    return DONE


def project(template: str, name: str) -> dict[str, str]:
    """Return the files of a template by their paths, for a project of that *name*."""
    schemas = {kind: (_SCHEMAS / f"{kind}.json").as_uri() for kind in ("function", "service", "localyun")}
    places = {
        "{project}": name, "{function_schema}": schemas["function"], "{service_schema}": schemas["service"],
        "{settings_schema}": schemas["localyun"],
    }  # fmt: skip
    files = {}
    for part in _PARTS[template]:
        for file in sorted((_PROJECTS / part).rglob("*.in")):
            content = file.read_text(encoding="utf-8")
            for placeholder, value in places.items():
                content = content.replace(placeholder, value)
            parts = file.relative_to(_PROJECTS / part).with_suffix("").parts
            files["/".join(each.replace("dot-", ".", 1) for each in parts)] = content
    return files
