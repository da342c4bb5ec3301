"""``completion``: scripts with which a shell completes commands, options and names.

The scripts call ``localyun completion words -- WORDS``, which prints the candidates for the last word: from the
grammar, and names of queues, topics, flows, functions and tutorials from a running emulator. Without candidates the
shell completes names of files.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence

from emulator.cli.client import Client, connect
from emulator.cli.main import build
from emulator.cli.mns import Mns
from emulator.cli.output import DONE, CommandFailed, say
from emulator.cli.parser import Parser
from emulator.config import Settings
from emulator.samples import TUTORIALS

_SCRIPTS = {
    "bash": """_localyun() {
    local IFS=$'\\n'
    COMPREPLY=($(compgen -W "$(localyun completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" \\
        -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _localyun localyun""",
    "zsh": """#compdef localyun
_localyun() {
    local -a names
    names=(${(f)"$(localyun completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#names )); then compadd -a names; else _files; fi
}
if [ "$funcstack[1]" = _localyun ]; then _localyun "$@"; else compdef _localyun localyun; fi""",
    "fish": """function __localyun_names
    set -l names (localyun completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    if test (count $names) -gt 0
        printf '%s\\n' $names
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c localyun -f -a '(__localyun_names)'""",
}


def run(arguments: Namespace, settings: Settings) -> int:
    """Print the script for a shell, or the candidates for the last of some words."""
    if arguments.shell != "words":
        say(_SCRIPTS[arguments.shell])
        return DONE
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    for name in sorted(candidates(words, lambda kind: _names(settings, kind))):
        say(name)
    return DONE


def candidates(words: Sequence[str], names: Callable[[str], Iterable[str]]) -> set[str]:
    """Return the candidates for the last of *words*; *names* returns the names of a kind, such as ``QUEUE``."""
    *before, begun = words or [""]
    parser = build(before)
    place, kind = 0, ""  # the index of the next positional; the kind of value that an option waits for
    offered: Iterable[str] = ()
    for word in before:
        if kind:
            kind = ""
            continue
        option = parser.options.get(word)
        if option is not None:
            kind = "" if option.nargs == 0 else str(option.metavar or option.dest.upper())
            offered = [str(each) for each in option.choices or ()]
        elif word in parser.commands:
            parser, place = parser.commands[word], 0
        elif not word.startswith("-"):
            place += 1
    if kind:
        candidates = set(offered) or set(names(kind))
    elif begun.startswith("-"):
        candidates = set(parser.options)
    else:
        candidates = set(parser.commands) or _positional(parser, place, names)
    return {name for name in candidates if name.startswith(begun)}


def _positional(parser: Parser, place: int, names: Callable[[str], Iterable[str]]) -> set[str]:
    if place >= len(parser.positionals):
        return set()
    action = parser.positionals[place]
    if action.choices:
        return {str(each) for each in action.choices}
    return set(names(str(action.metavar or action.dest.upper())))


def _names(settings: Settings, kind: str) -> list[str]:
    """Return the names of a kind of resource; none without an emulator."""
    if kind == "TUTORIAL":
        return [name for each in TUTORIALS for name in (each.name, each.short_name)]
    try:
        return _FROM_EMULATOR[kind](connect(settings)) if kind in _FROM_EMULATOR else []
    except CommandFailed:
        return []


_FROM_EMULATOR: dict[str, Callable[[Client], list[str]]] = {
    "QUEUE": lambda client: [row["QueueName"] for row in Mns(client).listed("/queues", "Queue")],
    "TOPIC": lambda client: [row["TopicName"] for row in Mns(client).listed("/topics", "Topic")],
    "FLOW": lambda client: [row["Name"] for row in client.workflow_pages("ListFlows", "Flows")],
    **dict.fromkeys(
        ("SERVICE/FUNCTION", "[SERVICE/]FUNCTION", "[SERVICE/]FUNCTION[.QUALIFIER]"),
        lambda client: list(client.admin("GET", "status")["functions"]),
    ),
}
