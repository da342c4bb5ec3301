"""Inputs as text files: one Python bytes literal a line, so that a change of the corpus can be read."""

import ast
import random
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
REGRESSIONS = HERE / "regressions"


def read_inputs(folder: Path, target: str) -> list[bytes]:
    """Return the inputs of ``folder/target.txt``; empty lines and comments do not count."""
    path = folder / f"{target}.txt"
    lines = path.read_text("ascii").splitlines() if path.exists() else []
    return [ast.literal_eval(line) for line in lines if line and not line.startswith("#")]


def mutations(seeds: list[bytes], count: int, longest: int, seed: int) -> Iterator[bytes]:
    """Yield *count* inputs made of *seeds* by cutting, repeating, joining and overwriting; the same for one *seed*."""
    chance = random.Random(seed)
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            _mutate(data, chance, seeds)
        yield bytes(data[:longest])


def _mutate(data: bytearray, chance: random.Random, seeds: list[bytes]) -> None:
    start = chance.randint(0, len(data))
    end = min(len(data), start + chance.choice([1, 1, 2, 8, 32, 200]))
    other = chance.choice(seeds)
    cut = chance.randint(0, len(other))
    deed = chance.randrange(6)
    if deed == 0:
        del data[start:end]
    elif deed == 1:
        data[start:end] = bytes(data[start:end]) * chance.choice([2, 2, 3, 20])
    elif deed == 2:
        data[start:end] = other[cut : cut + chance.choice([1, 4, 16, 64])]
    elif deed == 3:
        data[start:start] = chance.choice(_WORDS)
    elif deed == 4:
        data[start:] = other[cut:]
    elif start < len(data):
        data[start] = chance.choice([0, 9, 10, 13, 32, 34, 39, 58, 60, 92, 127, 128, 255, chance.randrange(256)])


_WORDS = [
    b"\r\n", b"\r\n\r\n", b"\n", b"\0", b"-1", b"0", b"1e999", b"9" * 30, b"9" * 5000, b"NaN", b"null", b"%", b"%zz",
    b"%00", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xe2\x80\xa8", b"\\ud800", b"[", b"{", b"(" * 60,
    b"[" * 300, b"&a ", b"*a ", b"<a>", b"]]>", b"$", b"''",
]  # fmt: skip
