"""Wildcards of policies: ``*`` stands for any number of characters, ``?`` for one."""


def glob_matches(pattern: str, text: str) -> bool:
    """Tell whether *pattern* covers the whole of *text*; case counts.

    Takes at most ``len(pattern) * len(text)`` steps, whatever the pattern: policies come from callers.
    """
    at = position = 0
    star, resume = -1, 0
    while position < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[position]):
            at += 1
            position += 1
        elif star >= 0:  # let the last star cover one more character and try again
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return pattern[at:].strip("*") == ""
