"""The texts of the command line, the console and the samples: found in the source, kept in .po files, compiled to .mo.

    python -m tests.catalogue     add new texts to every catalogue, drop those that are gone, compile

A text is what ``_("...")`` holds, what the parser explains, the headings of tables, and what argparse itself says.
"""

import ast
import os
import re
import struct
from pathlib import Path
from typing import get_args
from unittest.mock import patch

from jinja2 import Environment

from emulator.cli.commands.server import STATUS
from emulator.cli.deploy_steps import words_of
from emulator.cli.main import build
from emulator.cli.mns import resources
from emulator.cli.output import DOMAIN, FOLDER, SYSTEM_REASONS
from emulator.cli.tree_view import OUTCOMES, PARTS, VALUES
from emulator.cli.tree_view import STATES as ENDS
from emulator.config import OPTIONS
from emulator.console.app import COMING, STATES
from emulator.console.pages.requests import CAUSES
from emulator.console.refusals import SENTENCES as REFUSALS
from emulator.deploy.export.comparison import HIDDEN, OTHER, THERE, THIS
from emulator.deploy.planner import Action
from emulator.drawing.words import WORDS
from emulator.kernel.instrumentation import EVENTS
from emulator.lab.exploration import SENTENCES
from emulator.lab.traces import NodeKind
from emulator.samples import TUTORIALS
from emulator.services.workflow.languages.fdl.reader import STEP
from emulator.services.workflow.languages.statemachine.reader import STATE
from emulator.services.workflow.rehearsal.coverage import KINDS
from emulator.services.workflow.rehearsal.coverage import PHRASES as WORDS_OF_COVERAGE
from tests.suites.figures import markdown as suites
from tools import chinese, operations
from tools.kit import kit

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "emulator" / "cli"

CONSOLE = ROOT / "emulator" / "console"
SAMPLES = ROOT / "sample-apps"
PROPER = {"localyun", "localyun console", "FIFO", "ms", "LATEST", "ETag"}
"""Words of pages that are the same in every language."""

ARGPARSE = (
    "usage: ",
    "options",
    "positional arguments",
    "show this help message and exit",
    "%(prog)s: error: %(message)s\n",
    "argument %(argument_name)s: %(message)s",
    "the following arguments are required: %s",
    "invalid %(type)s value: %(value)r",
    "expected one argument",
    "expected at least one argument",
    "ignored explicit argument %r",
    "not allowed with argument %s",
    "one of the arguments %s is required",
    "ambiguous option: %(option)s could match %(matches)s",
)
"""Texts of Python's argparse that a user of this command can meet."""

HEADER = """msgid ""
msgstr ""
"Project-Id-Version: localyun\\n"
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""

PHRASES = (
    "kernel/phrases.py", "wire/answers.py", "wire/yaml.py", "services/workflow/engine/language.py",
    "services/workflow/engine/model.py", "services/workflow/languages", "services/workflow/rehearsal",
    "services/workflow/flows/flows.py",
)  # fmt: skip
"""Where mistakes in definitions and cases of flows are found, which commands and pages say in the user's language."""

OF_SETTINGS = ("config.py", "keyfile.py", "wire/schema/settings.py", "kernel/spelling.py", "deploy", "usage/prices.py",
               "lab/exploration.py", "cli/commands/deploy.py", "cli/comparison/recordings.py")  # fmt: skip
"""Where mistakes in settings and in files to deploy are found, which only commands say."""

OF_MISTAKES = ("Phrase", "failure", "refuse", "ValueError", "ExpressionError", "DefinitionError", "CaseError",
               "UnreadableYaml", "RepeatedKey", "KeyFileDamaged", "NoRecording", "_error", "ConfigError", "refused",
               "placed", "problem", "note", "Problem", "Misuse", "Noted", "left_out")  # fmt: skip
"""What takes the text of a mistake."""

OF_FIELDS = {each.help[0] for shape in (*resources().values(), OPTIONS) for each in shape}
"""Texts whose translation stands beside them, in the row of the field."""

SPEAKING = {
    *("say", "complain", "note", "progress", "tell", "input"),
    *("CommandFailed", "WrongUsage", "NoEmulator", "OtherEmulator"),
}
"""What prints its text to the user."""


def texts():
    """Return every text that is translated, in the order of the modules."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        nodes = _nodes(path)
        found.update(dict.fromkeys([*_marked(nodes), *_headings(nodes)]))
    found.update(dict.fromkeys(each for each in _of_parser(_unfolded()) if each not in OF_FIELDS))
    for each in TUTORIALS:
        found.update(dict.fromkeys((each.title, each.duration)))
    found.update(
        dict.fromkeys(
            (
                "the configured port",
                *STATUS,
                *get_args(NodeKind),
                *WORDS,
                *EVENTS,
                *OUTCOMES,
                *ENDS,
                *PARTS,
                *VALUES,
                *ARGPARSE,
            )
        )
    )
    found.update(dict.fromkeys((*SENTENCES.values(), *KINDS, *WORDS_OF_COVERAGE, *phrases(PHRASES + OF_SETTINGS))))
    found.update(dict.fromkeys((*(each.value for each in Action), *(words_of(each).counted for each in Action))))
    found.update(dict.fromkeys((THERE, THIS, OTHER, HIDDEN, *SYSTEM_REASONS)))
    found.pop("", None)
    return list(found)


def phrases(places=PHRASES):
    """Return the texts of mistakes, by default of those in definitions and cases of flows."""
    found = {}
    for path in _modules(places):
        found.update(dict.fromkeys(_phrases(_nodes(path))))
    found.update(dict.fromkeys((STEP.title, STATE.title, "version", "mode")))
    return [text for text in found if re.search("[A-Za-z]{2}", text)]


def _modules(places):
    for place in places:
        path = ROOT / "emulator" / place
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def _nodes(path):
    """Return the nodes of a module, itself first; to find them takes longer than to look at each."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def _phrases(nodes):
    """Yield the texts that are given directly, or by a name that the same function assigns them to."""
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    for function in [*functions, None]:
        named, inside = {}, nodes if function is None else list(ast.walk(function))
        for node in inside:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named.setdefault(node.targets[0].id, []).extend(_constants(node.value))
        for node in inside:
            if isinstance(node, ast.Call) and _name(node.func) in OF_MISTAKES:
                for argument in _said_by(node):
                    is_local = isinstance(argument, ast.Name) and function is not None
                    yield from named.get(argument.id, ()) if is_local else _constants(argument)


def _said_by(call):
    """Return the arguments of a mistake that may be its text; before that of a problem stands its place."""
    return call.args[2:3] if _name(call.func) == "Problem" else call.args[:2]


def _constants(node):
    """Yield the text of an expression, both of a condition."""
    if isinstance(node, ast.IfExp):
        yield from (*_constants(node.body), *_constants(node.orelse))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def unknown_phrases():
    """Yield the places where a mistake has a text that no catalogue can know: (file, line)."""
    for path in _modules((*PHRASES, *OF_SETTINGS)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_mistake = isinstance(node, ast.Call) and _name(node.func) in OF_MISTAKES
            if is_mistake and any(isinstance(argument, ast.JoinedStr) for argument in _said_by(node)):
                yield path.relative_to(ROOT).as_posix(), node.lineno


def console_texts():
    """Return every text of the console's pages: of the templates, states, and kinds of what comes next."""
    environment = Environment(extensions=["jinja2.ext.i18n"], trim_blocks=True, lstrip_blocks=True, autoescape=True)
    environment.filters.update(dict.fromkeys(("body", "json", "said", "urlencode"), str))
    found = {}
    for path in sorted((CONSOLE / "templates").rglob("*.html")):
        for _, _, text in environment.extract_translations(path.read_text(encoding="utf-8")):
            found[text] = None
    for path in sorted(CONSOLE.rglob("*.py")):
        found.update(dict.fromkeys(_marked(_nodes(path), "_", "FormRefused")))
    tables = (*STATES.values(), *COMING, *CAUSES.values(), *WORDS, *SENTENCES.values(), *REFUSALS)
    found.update(dict.fromkeys((*tables, *phrases())))
    for each in TUTORIALS:
        found.update(dict.fromkeys((each.title, each.duration)))
    return list(found)


def sample_texts():
    """Return every text that the clients of the sample applications print."""
    found = {}
    for path in sorted(SAMPLES.rglob("*.py")):
        found.update(dict.fromkeys(_marked(_nodes(path))))
    return list(found)


def table_texts():
    """Return every text of docstrings and suites that tables of the Chinese pages take over."""
    found = {}

    def say(text):
        found[text] = None
        return text

    for render in operations.tables(say).values():
        render()
    kit(say)
    suites(say)
    return list(found)


def unmarked():
    """Yield words of templates that are outside of every ``trans`` block: (file, words)."""
    for path in sorted((CONSOLE / "templates").rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"\{%-? (trans|set \w+) .*?%\}.*?\{%-? end(trans|set) -?%\}", " ", text, flags=re.DOTALL)
        text = re.sub(r"\{[{%#].*?[}%#]\}", " ", text, flags=re.DOTALL)
        for attribute in re.findall(r'(?:title|placeholder|aria-label|alt)="([^"]*)"', text):
            text += f">{attribute}<"
        text = re.sub(r"<[^>]*>", "\n", text)
        for words in re.findall(r"[A-Za-z][A-Za-z ,.']{2,}", text):
            if words.strip() not in PROPER:
                yield path.name, words.strip()


def untranslated():
    """Yield the places where a text is printed that is not looked up: (file, line, text)."""
    for path in sorted([*SOURCE.rglob("*.py"), *SAMPLES.rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in SPEAKING:
                for argument in node.args:
                    text = _literal(argument)
                    if re.search(r"[A-Za-z]{3,}", text):
                        yield path.relative_to(ROOT).as_posix(), node.lineno, text


def _marked(nodes, *names):
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and _name(node.func) in (names or ("_",))
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.args[0].value


def _headings(nodes):
    """Yield headings: of tuples for ``say_table`` and ``show_rows``, and keys of the tables for ``show_table``."""
    constants = {
        target.id: node.value
        for node in nodes[0].body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if not isinstance(node, ast.Call) or _name(node.func) not in {"say_table", "show_table", "show_rows"}:
            continue
        for argument in node.args[:2]:
            if isinstance(argument, ast.Call) and _name(argument.func) == "tuple":
                argument = argument.args[0]
            value = constants.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
            if isinstance(value, ast.Dict):
                yield from (key.value for key in value.keys)
            elif isinstance(value, ast.Tuple):
                yield from (each.value for each in value.elts if isinstance(each, ast.Constant))
    for name in ("HEADINGS", "headings"):
        for node in nodes:
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                yield from (each.value for each in getattr(node.value, "elts", ()))


def _unfolded():
    """Return the grammar with each text in one line, as it is looked up."""
    with patch.dict(os.environ, COLUMNS="100000"):
        return build()


def _of_parser(parser):
    if parser.prog == "localyun":  # descriptions of commands are their summaries as sentences
        yield from filter(None, (parser.description, parser.epilog))
    yield from (group.title for group in parser._action_groups if group.title and group._group_actions)
    for action in parser._actions:
        if action.help and action.help != "==SUPPRESS==":
            yield action.help
        yield from (choice.help for choice in getattr(action, "_choices_actions", ()) if choice.help)
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                yield from _of_parser(command)


def _name(function):
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _literal(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value for part in node.values if isinstance(part, ast.Constant))
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    return ""


def read(path: Path) -> dict[str, str]:
    """Return the translations of a .po file by text."""
    found, name, parts = {}, "", {"msgid": "", "msgstr": ""}
    for line in [*path.read_text(encoding="utf-8").splitlines(), 'msgid ""']:
        word, _, rest = line.partition(" ")
        if word in parts:
            if word == "msgid":
                found[parts["msgid"]] = parts["msgstr"]
                parts = {"msgid": "", "msgstr": ""}
            name, line = word, rest
        if line.startswith('"'):
            parts[name] += ast.literal_eval(line)
    found.pop("", None)
    return found


def written(translations, language):
    """Return the text of a .po file."""
    lines = [HEADER.format(language=language)]
    for text, translation in translations.items():
        lines.append(f"msgid {_quoted(text)}\nmsgstr {_quoted(translation)}\n")
    return "\n".join(lines)


def _quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def compiled(translations, language):
    """Return the content of a .mo file (GNU gettext manual, "The Format of GNU MO Files")."""
    header = HEADER.format(language=language).split('msgstr ""\n')[1]
    entries = {"": "".join(ast.literal_eval(line) for line in header.splitlines())}
    entries.update((text, translation) for text, translation in translations.items() if translation)
    pairs = sorted((text.encode(), translation.encode()) for text, translation in entries.items())
    start = 28 + 16 * len(pairs)
    keys = b"".join(text + b"\0" for text, _ in pairs)
    values = b"".join(translation + b"\0" for _, translation in pairs)
    tables = [b"", b""]
    for side, offset in ((0, start), (1, start + len(keys))):
        for pair in pairs:
            tables[side] += struct.pack("<II", len(pair[side]), offset)
            offset += len(pair[side]) + 1
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + tables[0] + tables[1] + keys + values


def main():
    """Bring every catalogue up to date with the source."""
    paths = [(path, texts()) for path in Path(FOLDER).glob(f"*/LC_MESSAGES/{DOMAIN}.po")]
    paths += [(path, sample_texts()) for path in SAMPLES.glob("locale/*/LC_MESSAGES/samples.po")]
    paths.append((chinese.FILE, table_texts()))
    paths += [(path, console_texts()) for path in CONSOLE.glob("locale/*/LC_MESSAGES/console.po")]
    for path, wanted in paths:
        language = "zh_CN" if path == chinese.FILE else path.parts[-3]
        known = read(path)
        translations = {text: known.get(text, "") for text in wanted}
        path.write_text(written(translations, language), encoding="utf-8")
        if path != chinese.FILE:  # which only this project reads
            path.with_suffix(".mo").write_bytes(compiled(translations, language))
        print(f"{language}: {sum(1 for each in translations.values() if not each)} of {len(translations)} untranslated")


if __name__ == "__main__":
    main()
