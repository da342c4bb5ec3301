"""The functions of a template whose value follows from their arguments alone.

Each takes the evaluated argument and may raise one of `REFUSALS` for an invalid one; `Misuse` has a message of its own.

Source: Resource Orchestration Service, functions of templates.
"""

import ast
import json
import operator
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.phrases import Phrase

NOTHING = object()
"""The value of ``ALIYUN::NoValue``: the property is left out."""

_LARGEST_TEXT = 1024 * 1024
_LONGEST_EXPRESSION = 1000
_LONGEST_MATCHED = 1000


class Misuse(ValueError):
    """Invalid arguments of a function; the text describes them."""


def written(value: Any) -> str:
    """Return a value as text, for insertion into a text."""
    if value is None or value is NOTHING:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _join(argument: Any) -> str:
    delimiter, items = argument
    if not isinstance(delimiter, str) or not isinstance(items, list):
        raise Misuse("takes a text and a list")
    return delimiter.join(map(written, items))


def _split(argument: Any) -> list[str]:
    delimiter, text = argument
    if not isinstance(delimiter, str) or not isinstance(text, str) or not delimiter:
        raise Misuse("takes two texts, the first of which is not empty")
    return text.split(delimiter)


def _select(argument: Any) -> Any:
    index, items, *default = argument
    if isinstance(items, str):
        items = items.split(",")
    if isinstance(items, dict):
        if str(index) in items:
            return items[str(index)]
    elif isinstance(items, list):
        number = int(str(index)[:9])
        if -len(items) <= number < len(items):
            return items[number]
    else:
        raise Misuse("takes an index and a list or a map")
    if not default:
        raise Misuse(Phrase("there is no item {index}", index=str(index)[:40]))
    return default[0]


def _replace(argument: Any) -> str:
    """Replace keys by values, also in values inserted before: ``<arn>`` may contain ``<suffix>``.

    Source: the applications of awesome-fnf rely on the second pass; that it ends after as many passes as there are
    keys is assumed.
    """
    changes, text = argument
    if not isinstance(changes, dict):
        raise Misuse("takes a map and a text")
    text = written(text)
    for _ in changes:
        before = text
        for old, new in changes.items():
            if old:
                text = text.replace(old, written(new))
            if len(text) > _LARGEST_TEXT:
                raise Misuse("the text becomes too large")
        if text == before:
            break
    return text


def _equals(argument: Any) -> bool:
    first, second = argument
    return first is second or written(first) == written(second)


def _encode(argument: Any) -> str:
    return b64encode(written(argument).encode()).decode()


def _decode(argument: Any) -> str:
    return b64decode(str(argument), validate=True).decode()


def _merged(argument: Any) -> list[Any]:
    return [item for items in argument for item in items]


def _add(argument: Any) -> Any:
    first, *others = argument
    if isinstance(first, dict):
        return {key: item for each in argument for key, item in each.items()}
    return _merged(argument) if isinstance(first, list) else sum(map(_numeric, others), _numeric(first))


def _contains(argument: Any) -> bool:
    items, item = argument
    return item in items


def _each_is_in(argument: Any) -> bool:
    items, others = argument
    return all(item in others for item in items)


def _index(argument: Any) -> int:
    item, items = argument
    if item not in items:
        raise Misuse(Phrase("there is no {item!r} in the list", item=written(item)[:40]))
    return int(items.index(item))


def _indent(argument: Any) -> str:
    text, level, *size = argument
    blanks = " " * (_between(level, 0, 20) * _between(size[0] if size else 2, 0, 4))
    return "\n".join(blanks + line if line else line for line in written(text).split("\n"))


def _between(value: Any, low: int, high: int) -> int:
    number = int(value)
    if not low <= number <= high:
        raise Misuse(Phrase("{number} is not between {low} and {high}", number=number, low=low, high=high))
    return number


def _matches(argument: Any) -> bool:
    if not isinstance(argument, list) or len(argument) != 2:
        raise Misuse("takes a pattern and a text")
    pattern, text = argument
    try:
        return re.match(pattern, str(text)[:_LONGEST_MATCHED]) is not None
    except (re.error, RecursionError, OverflowError):
        raise Misuse("the pattern is not a regular expression") from None


def _merge_maps(argument: Any) -> list[dict[str, Any]]:
    """Turn ``{key: [values]}`` into a list of maps, one for each index; a shorter list repeats its last value."""
    columns = {key: values for each in argument for key, values in each.items()}
    if not all(isinstance(values, list) and values for values in columns.values()):
        raise Misuse("takes maps whose values are lists")
    rows = max(map(len, columns.values()), default=0)
    return [{key: values[min(row, len(values) - 1)] for key, values in columns.items()} for row in range(rows)]


def _select_of_maps(argument: Any) -> list[Any]:
    key, maps = argument
    return [each[key] for each in maps if key in each]


def json_value(key: str, text: Any) -> Any:
    """Return a member of the JSON object in *text*.

    Raises: Misuse.
    """
    try:
        content = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        raise Misuse(Phrase("{text!r} is not JSON", text=str(text)[:80])) from None
    if not isinstance(content, dict) or key not in content:
        raise Misuse(Phrase("there is no {key!r} in {content}", key=key, content=written(content)[:80]))
    return content[key]


def _get_json_value(argument: Any) -> Any:
    key, text = argument
    return json_value(str(key), text)


def _jq(argument: Any) -> Any:
    """Run the part of jq that templates use: paths, ``[]``, pipes, and objects of paths."""
    method, script, content = argument
    if method not in {"First", "All"}:
        raise Misuse("the method must be First or All")
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            raise Misuse("the object is not JSON") from None
    values = [content]
    for step in _split_outside(str(script), "|"):
        values = [result for value in values for result in _jq_step(step.strip(), value)]
    return values if method == "All" else (values[0] if values else None)


def _split_outside(text: str, mark: str) -> list[str]:
    """Split at *mark* outside of quotes and brackets."""
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == '"'
        depth += 0 if quoted else (character in "{[(") - (character in "}])")
        if character == mark and not quoted and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


_JQ_PART = re.compile(r'\.?(?:([A-Za-z_][A-Za-z0-9_]*)|"([^"]*)")|\.?\[(?:(-?\d+)|"([^"]*)")?\]|\.(?=$)|\?')


def _jq_step(step: str, value: Any) -> list[Any]:
    if step.startswith("{") and step.endswith("}"):
        members = {}
        for pair in _split_outside(step[1:-1], ","):
            key, _, path = pair.partition(":")
            name = key.strip().strip('"')
            members[name] = next(iter(_jq_step(path.strip() or f".{name}", value)), None)
        return [members]
    if step.startswith("[") and step.endswith("]"):
        return [_jq_step(step[1:-1].strip(), value)]
    if not step.startswith("."):
        raise Misuse(
            Phrase(
                "{step!r} is beyond the part of jq that is understood here: paths, [], pipes and objects",
                step=step[:40],
            )
        )
    values, place = [value], 0
    while place < len(step):
        part = _JQ_PART.match(step, place)
        if part is None or part.end() == place:
            raise Misuse(Phrase("{step!r} is beyond the part of jq that is understood here", step=step[:40]))
        place = part.end()
        values = [result for each in values for result in _jq_part(part, each)]
    return values


def _jq_part(part: re.Match[str], value: Any) -> list[Any]:
    name = next((text for text in (part[1], part[2], part[4]) if text is not None), None)
    if name is not None:
        return [value.get(name) if isinstance(value, dict) else None]
    if part[3] is not None:
        index = int(part[3][:9])
        return [value[index] if isinstance(value, list) and -len(value) <= index < len(value) else None]
    if "[" in part[0]:
        return list(value.values()) if isinstance(value, dict) else list(value or [])
    return [value]


def _numeric(value: Any) -> int | float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = str(value).strip()[:40]
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _average(argument: Any) -> float:
    digits, numbers = argument
    numbers = [_numeric(each) for each in numbers]
    return float(round(sum(numbers) / len(numbers), _between(digits, 0, 20)))


def _divided(first: int | float, second: int | float) -> int | float:
    """Divide; the quotient of two whole numbers is whole. Source: ROS "Fn::Calculate"."""
    return first // second if isinstance(first, int) and isinstance(second, int) else first / second


_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divided,
    ast.Mod: operator.mod,
}


def _calculate(argument: Any) -> int | float:
    expression, digits, *numbers = argument
    values = numbers[0] if numbers else []
    text = re.sub(r"\{(\d{1,9})\}", lambda place: f"({_numeric(values[int(place[1])])})", str(expression))
    if len(text) > _LONGEST_EXPRESSION:
        raise Misuse("the expression is too long")
    try:
        value = _evaluated(ast.parse(text.strip(), mode="eval").body)
    except ZeroDivisionError:
        raise Misuse("division by zero") from None
    except (SyntaxError, RecursionError, MemoryError, OverflowError):
        raise Misuse("takes an expression of numbers, brackets, + - * / and %") from None
    return round(value, _between(digits, 0, 20)) if isinstance(value, float) else value


def _evaluated(node: ast.expr) -> int | float:
    if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        return _numeric(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        value = _evaluated(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _numeric(_OPERATORS[type(node.op)](_evaluated(node.left), _evaluated(node.right)))
    raise Misuse("takes an expression of numbers, brackets, + - * / and %")


def _cidr(argument: Any) -> list[str]:
    """Divide a block of addresses: block, number of parts, and host bits of each part. Source: assumed."""
    import ipaddress  # rarely needed

    block, count, bits = argument
    network = ipaddress.ip_network(str(block))
    parts = network.subnets(new_prefix=network.max_prefixlen - int(bits))
    return [str(part) for part, _ in zip(parts, range(_between(count, 1, 256)), strict=False)]


REFUSALS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""The exceptions that a function may raise for an invalid argument."""

AROUND_TOKENS = frozenset({"Fn::Join", "Fn::Str", "Fn::ListMerge", "Fn::Equals", "Fn::Replace"})
"""Functions whose arguments may contain tokens, as they do not look at the values."""

VALUE_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "Fn::Join": _join,
    "Fn::Split": _split,
    "Fn::Select": _select,
    "Fn::Replace": _replace,
    "Fn::Equals": _equals,
    "Fn::Base64Encode": _encode,
    "Fn::Base64": _encode,
    "Fn::Base64Decode": _decode,
    "Fn::Str": written,
    "Fn::Length": len,
    "Fn::ListMerge": _merged,
    "Fn::Add": _add,
    "Fn::Contains": _contains,
    "Fn::EachMemberIn": _each_is_in,
    "Fn::MatchPattern": _matches,
    "Fn::Index": _index,
    "Fn::Indent": _indent,
    "Fn::MergeMapToList": _merge_maps,
    "Fn::SelectMapList": _select_of_maps,
    "Fn::GetJsonValue": _get_json_value,
    "Fn::Jq": _jq,
    "Fn::Avg": _average,
    "Fn::Max": lambda argument: max(map(_numeric, argument)),
    "Fn::Min": lambda argument: min(map(_numeric, argument)),
    "Fn::Calculate": _calculate,
    "Fn::Cidr": _cidr,
}
