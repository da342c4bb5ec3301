"""The grammar: every command names a function that exists, and wrong usage is told apart."""

import functools
import os
import re
import textwrap
from argparse import Action
from importlib import import_module

import pytest

from emulator.cli.main import build, main
from emulator.cli.parser import wrapped
from emulator.config import FLAGS, OPTIONS, flag_of
from emulator.drawing.text_width import cells


def commands(parser, prefix=""):
    """Yield (words, parser) of every command that can be run."""
    for name, child in parser.commands.items():
        yield from commands(child, f"{prefix} {name}".strip())
    if prefix and parser.get_default("run"):
        yield prefix, parser


def inner(parser):
    """Return the parsers of what *parser* can be followed by."""
    return parser.commands


COLUMNS = os.environ.get("COLUMNS")


@functools.cache
def built(columns=COLUMNS):
    """Return the whole grammar, for a terminal of this width: the same as outside of the tests unless one is given."""
    return build()


COMMANDS = dict(commands(built()))


def test_every_command_is_there():
    """The names people guess."""
    names = set(COMMANDS)

    assert names == {
        *("init", "start", "stop", "status", "list", "reset", "env", "config", "completion", "version"),
        *("logs", "invoke", "exec", "console", "deploy", "deployments", "export", "diff", "doctor", "support"),
        *(
            "clock",
            "settle",
            "skip",
            "trace",
            "explore",
            "function list",
            "function sessions",
            "usage",
            "compare",
            "record",
        ),
        *(f"fault {action}" for action in ("add", "list", "remove")),
        *(f"mock {action}" for action in ("add", "list", "calls", "remove")),
        *(f"sink {action}" for action in ("add", "list", "show", "remove")),
        *(f"account {action}" for action in ("add", "list", "remove")),
        *(f"checkpoint {action}" for action in ("save", "list", "restore", "delete", "export", "import")),
        *(
            f"flow {action}"
            for action in (
                "test",
                "cases",
                "replay",
                "show",
                "rerun",
                "start",
                "history",
                "graph",
                "check",
                "list",
                "describe",
                "create",
                "delete",
                "stop",
            )
        ),
        *("flow schedules", "flow fire", "flow step", "flow debug", "flow fork", "flow convert"),
        *(
            f"queue {action}"
            for action in ("create", "delete", "list", "send", "receive", "peek", "purge", "attributes")
        ),
        *(f"topic {action}" for action in ("create", "delete", "list", "publish", "subscribe", "unsubscribe")),
        *(f"topic {action}" for action in ("subscriptions", "deliveries", "outbox")),
        *("trigger list", "trigger fire"),
        *("tutorial list", "tutorial run"),
        *("docs", "explain", "mcp"),
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_command_names_a_function_that_exists(name):
    """Commands are imported on demand; none of the names is stale."""
    module, _, function = COMMANDS[name].get_default("run").partition(":")

    assert callable(getattr(import_module(f"emulator.cli.commands.{module}"), function)), name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name):
    """--help works for each command (argparse formats lazily and can fail there)."""
    assert COMMANDS[name].format_help().startswith(f"usage: localyun {name}")


def test_start_takes_every_option_that_has_a_flag():
    """The table of options is the grammar of start."""
    start = COMMANDS["start"]

    assert {flag_of(option) for option in OPTIONS if option.is_in(FLAGS)} <= set(start.options)
    assert not {flag_of(option) for option in OPTIONS if not option.is_in(FLAGS)} & set(start.options)


@pytest.mark.parametrize("words", [["bogus"], ["start", "--auth", "maybe"], ["flow", "start"], ["logs", "-n", "x"]])
def test_wrong_usage_ends_with_2(words, capsys):
    """argparse's own refusals."""
    with pytest.raises(SystemExit) as ended:
        main(words)

    assert ended.value.code == 2
    assert "usage: localyun" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["flow"], ["queue"], ["topic"], ["tutorial"]])
def test_command_that_is_not_complete_shows_help(words, capsys):
    """A group without an action is wrong usage and explains itself."""
    assert main(words) == 2
    assert "usage: localyun" in capsys.readouterr().out


def test_setting_that_cannot_be_used_is_wrong_usage(capsys, monkeypatch, tmp_path):
    """A broken variable is told without a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALYUN_PORT", "many")

    assert main(["status"]) == 2
    assert capsys.readouterr().err.startswith("localyun: LOCALYUN_PORT: port must be a whole number")


@pytest.mark.parametrize("command", COMMANDS)
def test_grammar_of_one_command_is_that_of_the_whole(command):
    """The part that is built for a command explains it like the whole does, its parents included."""
    whole, part = built(), build(command.split())

    for word in command.split():
        assert part.format_usage() == whole.format_usage()
        whole, part = inner(whole)[word], inner(part)[word]

    assert part.format_help() == whole.format_help()


@pytest.mark.parametrize("group", ["", "flow", "queue", "topic", "fault", "checkpoint"])
@pytest.mark.parametrize("columns", ["40", "80", "200", "", "0", "wide"])
def test_list_of_commands_is_that_of_the_whole(group, columns, monkeypatch):
    """Names and summaries alone make the same list, as wide as the terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    whole, part = built(columns), build([group] if group else ["--help"])
    if group:
        whole, part = inner(whole)[group], inner(part)[group]

    listed = part.format_help()

    assert listed == whole.format_help()
    assert "{" not in listed
    assert "None" not in listed


def test_outline_answers_what_argparse_asks_of_a_command():
    """From Python 3.14 on: whether the summary is well formed, which needs what an outline does not have."""
    parser = build(["--help"])

    for name, outline in inner(parser).items():
        assert outline._check_help(Action([], name, help="start an emulator")) is None


def test_help_has_no_colors(monkeypatch):
    """Python 3.14 would color it on a terminal, and the usage of a command with commands would begin twice."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    parser = build(["flow", "list"])

    for shown in (parser.format_help(), inner(parser)["flow"].format_help()):
        assert "\x1b" not in shown
        assert shown.count("usage: ") == 1


def test_help_is_as_wide_as_the_terminal_says(monkeypatch):
    """The width is read without `shutil`."""
    monkeypatch.setenv("COLUMNS", "67")

    lines = built("67").format_help().splitlines()

    assert 55 < max(map(len, lines)) <= 65


@pytest.mark.parametrize("group", ["", "flow", "queue", "topic"])
def test_commands_and_their_summaries_are_in_columns(group):
    """No name is so long that its summary needs a line of its own, and no line ends in blanks."""
    parser = inner(built())[group] if group else built()
    names = "|".join(inner(parser))

    lines = parser.format_help().splitlines()
    columns = {found.end() for line in lines if (found := re.match(rf"    (?:{names}) +(?=\S)", line))}

    assert len(columns) == 1
    assert sum(re.match(rf"    (?:{names})\b", line) is not None for line in lines) == len(inner(parser))
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("width", [11, 24, 40, 65])
@pytest.mark.parametrize(
    "text",
    [
        "stop the emulator",
        "start an emulator in the foreground, or with -d in the background",
        "two  spaces and a_long_word",
        "",
    ],
)
def test_lines_of_help_are_those_of_textwrap(text, width):
    """Without importing it, but that a word with a hyphen or too long for a line stays whole."""
    assert wrapped(text, width) == textwrap.wrap(" ".join(text.split()), width)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["quue"], "unknown command 'quue'; did you mean queue?"),
        (["invoke", "hello", "Ada"], "unrecognized arguments: Ada; write the event after --event, in quotes"),
        (["queue", "list", "orders"], "unrecognized arguments: orders\n"),
        (["--state", "queue", "flwo"], "unknown command 'flwo'; did you mean flow?"),
        (["--json", "queue", "snd"], "unknown command 'snd'; did you mean send?"),
        (["queue", "frobnicate"], "unknown command 'frobnicate'; localyun queue --help lists the commands\n"),
        (["--state"], "expected one argument"),
        (["completion", "bas"], "invalid choice: 'bas' (choose from bash, zsh, fish); did you mean bash?\n"),
        (["completion", "tcsh"], "invalid choice: 'tcsh' (choose from bash, zsh, fish)\n"),
        (["start", "--auth", "lenientt"], "(choose from verify, lenient); did you mean lenient?\n"),
        (["fault", "add", "--status", "abc"], "argument --status: must be a whole number, not 'abc'\n"),
        (["fault", "add", "--drop", "afer"], "(choose from before, after); did you mean after?\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_exist_is_answered_with_the_nearest(words, text, capsys):
    """Commands, options and choices; values of options that stand before the command are no commands."""
    with pytest.raises(SystemExit):
        main(words)

    assert text in capsys.readouterr().err


@pytest.mark.parametrize("text", ["以 --port 8888 在前台启动模拟器", "call a well-known function of it"])
def test_help_is_as_wide_as_the_terminal(text):
    """Chinese characters take two cells, and no word is cut."""
    lines = wrapped(text, 24)

    assert len(lines) > 1
    assert all(cells(line) <= 24 for line in lines)
    assert [word for line in lines for word in line.split() if word.isascii()] == [
        word for word in text.split() if word.isascii()
    ]


def test_what_the_program_is_and_returns_is_wrapped_too(monkeypatch):
    """Descriptions and what stands below the commands, at 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    text = built("80").format_help()

    assert max(map(len, text.splitlines())) <= 80
    assert "LOCALYUN_PORT for" in text
