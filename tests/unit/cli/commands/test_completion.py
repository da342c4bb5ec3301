"""What a shell is offered for the last of some words."""

import shutil
import subprocess

import pytest

from emulator.cli.commands.completion import _SCRIPTS, candidates


def names(kind):
    return {"QUEUE": ["orders", "mails"], "FLOW": ["polling"]}.get(kind, [])


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["que"], {"queue"}),
        (["queue", "re"], {"receive"}),
        (["queue", "receive", ""], {"orders", "mails"}),
        (["queue", "receive", "orders", ""], set()),
        (["queue", "send", "--priority", "3", "or"], {"orders"}),
        (["queue", "receive", "--wa"], {"--wait"}),
        (["queue", "receive", "--wait", ""], set()),
        (["start", "--auth", ""], {"verify", "lenient"}),
        (["start", "--log-f"], {"--log-file", "--log-format"}),
        (["flow", "history", "p"], {"polling"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
        (["reset", "--queue", "o"], {"orders"}),
    ],
)
def test_last_word_is_completed(words, offered):
    """Commands, actions, options, their choices, and names of resources."""
    assert candidates(words, names) == offered


def test_without_words_every_command_is_offered():
    """At the start of a line."""
    assert {"start", "queue", "flow", "tutorial"} <= candidates([""], names)


@pytest.mark.parametrize("shell", sorted(_SCRIPTS))
def test_script_is_one_of_its_shell(shell):
    """The shell reads it without complaint, where it is installed."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")

    read = subprocess.run([shell, "-n"], input=_SCRIPTS[shell], text=True, capture_output=True, check=False)

    assert (read.returncode, read.stderr) == (0, "")


def test_bash_offers_what_the_command_prints(tmp_path):
    """The script end to end, with a stand-in for the command."""
    (tmp_path / "localyun").write_text('#!/bin/sh\nshift 3\necho "$1"-one\necho "$1"-two\n')
    (tmp_path / "localyun").chmod(0o755)
    program = f"{_SCRIPTS['bash']}\nPATH={tmp_path}:$PATH\nCOMP_WORDS=(localyun qu)\nCOMP_CWORD=1\n_localyun\n"

    done = subprocess.run(
        ["bash", "-c", program + 'printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["qu-one", "qu-two"]
