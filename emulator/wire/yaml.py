"""YAML that people write, read without trusting it: one error for whatever is wrong, and no bombs.

The library shares what an alias stands for, so a text of a few lines can mean billions of values; what then walks or
writes them never ends. Values are counted here with aliases in full before anything is built of them. The library also
lets exceptions of every kind out for values that do not fit their tags (``!!int ""``, ``2001-99-99``); they become the
one error too.
"""

from typing import Any, Final

MOST_VALUES: Final = 100_000
"""Keys and values of one text, aliases counted in full."""

DEEPEST: Final = 100
"""Levels of lists and maps."""

_MISFITS: Final = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip


class UnreadableYaml(Exception):
    """The text is no YAML that is taken; ``line`` and ``column`` count from 1 and are None when there is no place."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        self.problem = problem
        self.line = line
        self.column = column
        super().__init__(problem)


class YamlText:
    """One document: ``root`` is the library's node, None for an empty text; `value` builds what a node stands for."""

    def __init__(self, text: str | bytes) -> None:
        """Read *text*.

        Raises: UnreadableYaml.
        """
        import yaml  # slow to import, and most installations have no file

        try:
            self._loader = yaml.SafeLoader(text)
            self.root: Any = self._loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            raise _marked(error) from error
        except (yaml.YAMLError, *_MISFITS) as error:
            raise UnreadableYaml(str(error)) from error
        if self.root is not None:
            _Scale().weigh(self.root, 0)

    def value(self, node: Any) -> Any:
        """Return what *node*, a part of this document, stands for.

        Raises: UnreadableYaml.
        """
        import yaml  # it is loaded already

        try:
            return self._loader.construct_document(node)
        except yaml.MarkedYAMLError as error:
            raise _marked(error) from error
        except (yaml.YAMLError, *_MISFITS) as error:
            mark = node.start_mark
            raise UnreadableYaml(f"a value that cannot be used ({error})", mark.line + 1, mark.column + 1) from error


def read_yaml(text: str | bytes) -> Any:
    """Return what the one document in *text* stands for, None when it is empty.

    Raises: UnreadableYaml.
    """
    document = YamlText(text)
    return None if document.root is None else document.value(document.root)


def _marked(error: Any) -> UnreadableYaml:
    mark = error.problem_mark
    problem = error.problem or "not valid YAML"
    return UnreadableYaml(problem, mark.line + 1, mark.column + 1) if mark else UnreadableYaml(problem)


class _Scale:
    """Counts the values below a node; a part that several aliases share is walked once."""

    def __init__(self) -> None:
        self._weights: dict[int, int] = {}
        self._open: set[int] = set()

    def weigh(self, node: Any, depth: int) -> int:
        """Return the number of values in *node*.

        Raises: UnreadableYaml when there are too many, too deep, or when it contains itself.
        """
        if node.id == "scalar":
            return 1
        if id(node) in self._open:
            raise self._refused(node, "a value contains itself")
        if depth >= DEEPEST:
            raise self._refused(node, f"nested more than {DEEPEST} levels deep")
        known = self._weights.get(id(node))
        if known is not None:
            return known
        self._open.add(id(node))
        parts = [part for pair in node.value for part in pair] if node.id == "mapping" else node.value
        weight = 1
        for part in parts:
            weight += self.weigh(part, depth + 1)
            if weight > MOST_VALUES:
                raise self._refused(node, f"more than {MOST_VALUES} values, aliases counted in full")
        self._open.discard(id(node))
        self._weights[id(node)] = weight
        return weight

    def _refused(self, node: Any, problem: str) -> UnreadableYaml:
        return UnreadableYaml(problem, node.start_mark.line + 1, node.start_mark.column + 1)
