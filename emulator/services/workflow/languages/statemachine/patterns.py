"""Regular expressions that are matched in time linear in the text, for ``regexMatchString``.

A pattern is compiled to a program for a nondeterministic automaton, and a text is matched by tracking the set of its
reachable places; transitions between sets are cached. So no pattern of a flow can block the loop, as backtracking
could. The syntax is that of RE2 without Unicode classes; flags: ``(?i)`` in front of the whole pattern.

Source: assumed; the vendor names the function and no syntax.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

MAX_CHARS: Final = 1_000
MAX_INSTRUCTIONS: Final = 5_000
MAX_REPEAT: Final = 1_000
MAX_DEPTH: Final = 50
_REMEMBERED: Final = 4_096

Test = Callable[[str], bool]


class PatternError(ValueError):
    """A text that is no pattern, or one that grows too large."""


class _Take(NamedTuple):
    test: Test
    then: int


class _Fork(NamedTuple):
    ways: tuple[int, ...]


class _At(NamedTuple):
    place: str
    then: int


class _Done(NamedTuple):
    pass


_Instruction = _Take | _Fork | _At | _Done


def _is_word(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


def _one_of(characters: str) -> Test:
    return lambda character: character in characters


_CLASSES: Final[dict[str, Test]] = {
    "d": lambda character: character.isascii() and character.isdigit(),
    "w": _is_word,
    "s": _one_of(" \t\n\r\f\v"),
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_ANCHORS: Final = {"b": "b", "B": "B", "A": "^", "z": "$"}


class Pattern:
    """A compiled pattern; `found_in` searches it anywhere in a text.

    Raises: PatternError.
    """

    __slots__ = ("_code", "_first", "_moves", "_sees_words")

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARS:
            raise PatternError(f"a pattern has at most {MAX_CHARS} characters")
        compiler = _Compiler(text)
        self._code = compiler.code
        self._first = compiler.first
        self._sees_words = compiler.sees_words
        self._moves: dict[tuple[frozenset[int], str, bool, bool], frozenset[int]] = {}

    def found_in(self, text: str, spend: Callable[[int], None]) -> bool:
        """Whether the pattern matches somewhere in *text*. *spend* is called with the work done, and may raise."""
        last = len(text)
        present = self._reach({self._first}, None, text[:1], at_end=not text)
        for position, character in enumerate(text, 1):
            if 0 in present:
                return True
            following = text[position : position + 1] if self._sees_words else ""
            key = (present, character, position == last, bool(following) and _is_word(following))
            moved = self._moves.get(key)
            if moved is None:
                spend(10 + len(present))
                taken = {
                    step.then
                    for place in present
                    if isinstance(step := self._code[place], _Take) and step.test(character)
                }
                moved = self._reach(taken | {self._first}, character, following, at_end=position == last)
                spend(len(moved))
                if len(self._moves) >= _REMEMBERED:
                    self._moves.clear()
                self._moves[key] = moved
            else:
                spend(1)
            present = moved
        return 0 in present

    def _reach(self, start: set[int], before: str | None, after: str, *, at_end: bool) -> frozenset[int]:
        """Return the places that can be reached from *start* without taking a character."""
        reached: set[int] = set()
        waiting = list(start)
        at_border = (before is not None and _is_word(before)) != (after != "" and _is_word(after))
        holds = {"^": before is None, "$": at_end, "b": at_border, "B": not at_border}
        while waiting:
            place = waiting.pop()
            if place in reached:
                continue
            reached.add(place)
            match self._code[place]:
                case _Fork(ways):
                    waiting.extend(ways)
                case _At(where, then) if holds[where]:
                    waiting.append(then)
                case _:
                    pass
        return frozenset(reached)


class _Compiler:
    """Reads a pattern from its end to its start, so that every instruction knows what follows it; 0 is the end."""

    def __init__(self, text: str) -> None:
        self.code: list[_Instruction] = [_Done()]
        self.sees_words = False
        self._text = text
        self._position = 0
        self._depth = 0
        self._copies = 0
        self._blind_to_case = False
        if text.startswith("(?i)"):
            self._blind_to_case = True
            self._position = 4
        build = self._alternatives()
        if self._position < len(text):
            raise PatternError("unexpected ')'")
        self.first = build(0)

    # Each part of a pattern becomes a function that, given the place of what follows it, emits itself and returns where
    # it begins; so a repeated part is emitted as often as it is needed.

    def _emit(self, instruction: _Instruction) -> int:
        if len(self.code) >= MAX_INSTRUCTIONS:
            raise PatternError("the pattern is too large")
        self.code.append(instruction)
        return len(self.code) - 1

    def _copy(self, atom: Callable[[int], int], then: int) -> int:
        """Repeat *atom*; a repetition of nothing emits no instruction, so copies are counted on their own."""
        self._copies += 1
        if self._copies > MAX_INSTRUCTIONS:
            raise PatternError("the pattern is too large")
        return atom(then)

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _alternatives(self) -> Callable[[int], int]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PatternError("the pattern nests too deep")
        ways = [self._sequence()]
        while self._peek() == "|":
            self._position += 1
            ways.append(self._sequence())
        self._depth -= 1
        if len(ways) == 1:
            return ways[0]
        return lambda then: self._emit(_Fork(tuple(way(then) for way in ways)))

    def _sequence(self) -> Callable[[int], int]:
        parts: list[Callable[[int], int]] = []
        while self._peek() not in {"", "|", ")"}:
            parts.append(self._repeated(self._atom()))

        def build(then: int) -> int:
            for part in reversed(parts):
                then = part(then)
            return then

        return build

    def _repeated(self, atom: Callable[[int], int]) -> Callable[[int], int]:
        if (bounds := self._repetition()) is None:
            return atom
        if self._peek() == "?":  # lazy or not finds the same
            self._position += 1
        if self._repetition() is not None:  # elsewhere ``a++`` means something else than a repeated repetition
            raise PatternError("a repetition is repeated; put it in parentheses")
        return self._times(atom, *bounds)

    def _repetition(self) -> tuple[int, int | None] | None:
        """Read a repetition sign and return its least and most count; None when there is none."""
        sign = self._peek()
        if sign == "{":
            return self._counts()
        bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign)
        self._position += bounds is not None
        return bounds

    def _counts(self) -> tuple[int, int | None] | None:
        """Read ``{2}``, ``{2,}`` or ``{2,5}``; anything else is the character itself."""
        end = self._text.find("}", self._position)
        low, comma, high = self._text[self._position + 1 : max(end, 0)].partition(",")
        if end < 0 or not low.isascii() or not low.isdigit() or (high and not (high.isascii() and high.isdigit())):
            return None
        if len(low) > 4 or len(high) > 4 or int(low) > MAX_REPEAT or int(high or 0) > MAX_REPEAT:
            raise PatternError(f"a part is repeated {MAX_REPEAT} times at most")
        most = int(high) if high else None if comma else int(low)
        if most is not None and most < int(low):
            raise PatternError("the counts of a repetition are in the wrong order")
        self._position = end + 1
        return int(low), most

    def _times(self, atom: Callable[[int], int], low: int, high: int | None) -> Callable[[int], int]:
        def build(then: int) -> int:
            if high is None:
                loop = self._emit(_Fork((then,)))
                self.code[loop] = _Fork((atom(loop), then))
                then = loop
            else:
                after = then
                for _ in range(high - low):
                    then = self._emit(_Fork((self._copy(atom, then), after)))
            for _ in range(low):
                then = self._copy(atom, then)
            return then

        return build

    def _atom(self) -> Callable[[int], int]:
        character = self._peek()
        self._position += 1
        match character:
            case "(":
                return self._group()
            case "[":
                return self._taking(self._set())
            case ".":
                return self._taking(lambda taken: taken != "\n")
            case "^" | "$":
                return lambda then: self._emit(_At(character, then))
            case "*" | "+" | "?":
                raise PatternError(f"nothing stands before {character!r}")
            case "\\":
                return self._escaped()
            case _:
                return self._taking(_one_of(character))

    def _group(self) -> Callable[[int], int]:
        if self._peek() == "?":
            rest = self._text[self._position :]
            if rest.startswith("?:"):
                self._position += 2
            elif rest.startswith(("?P<", "?<")) and not rest.startswith(("?<=", "?<!")) and ">" in rest:
                self._position += rest.index(">") + 1
            else:
                raise PatternError("this kind of group is not known")
        build = self._alternatives()
        if self._peek() != ")":
            raise PatternError("')' expected")
        self._position += 1
        return build

    def _taking(self, test: Test) -> Callable[[int], int]:
        if self._blind_to_case:
            return lambda then: self._emit(_Take(lambda taken: test(taken.lower()) or test(taken.upper()), then))
        return lambda then: self._emit(_Take(test, then))

    def _escaped(self) -> Callable[[int], int]:
        character = self._peek()
        if character in _ANCHORS and character:
            self._position += 1
            self.sees_words = True
            place = _ANCHORS[character]
            return lambda then: self._emit(_At(place, then))
        return self._taking(self._escape())

    def _escape(self) -> Test:
        """Read the character or class after a backslash."""
        character = self._peek()
        self._position += 1
        if character.lower() in _CLASSES and character:
            test = _CLASSES[character.lower()]
            return test if character.islower() else lambda taken: not test(taken)
        if character in _ESCAPES and character:
            return _one_of(_ESCAPES[character])
        if not character or (character.isascii() and character.isalnum()):
            raise PatternError(f"the escape \\{character} is not known")
        return _one_of(character)

    def _set(self) -> Test:
        negated = self._peek() == "^"
        self._position += negated
        tests: list[Test] = []
        first = True
        while (character := self._peek()) != "]" or first:
            if not character:
                raise PatternError("']' expected")
            first = False
            tests.append(self._member())
        self._position += 1

        def test(taken: str) -> bool:
            return any(each(taken) for each in tests)

        return (lambda taken: not test(taken)) if negated else test

    def _member(self) -> Test:
        low = self._peek()
        self._position += 1
        if low == "\\":
            return self._escape()
        if self._peek() != "-" or self._text[self._position + 1 : self._position + 2] in {"]", ""}:
            return _one_of(low)
        high = self._text[self._position + 1]
        if high == "\\" or high < low:
            raise PatternError("a range of characters is in the wrong order")
        self._position += 2
        return lambda taken: low <= taken <= high
