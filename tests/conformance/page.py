"""The matrix as a page: operation by client, with the number of passing cases in each cell."""

import json
import re
from collections import defaultdict
from pathlib import Path

from tests.conformance.clients import CLIENTS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
CASES = ROOT / "docs" / "conformance.json"
SERVICES = {
    "fc": "Function Compute", "mns": "Simple Message Queue", "mns-open": "Simple Message Queue, management",
    "oss": "Object storage", "fnf": "CloudFlow", "ram": "Resource Access Management",
    "sts": "Security Token Service",
}  # fmt: skip
HEAD = """# Conformance

For users who want to know which operations are tested with which official client: each cell is the number of passing
test cases in which the client called the operation. The requests that the emulators of the tests received are counted,
and clients are distinguished by their `User-Agent`. [conformance.json](conformance.json) lists the names of the cases.
An empty cell does not mean that the operation is refused, only that no test case of that client calls it.
`python3 dev.py conformance` generates this page.

| | |
|---|---|
"""


def gathered(folder, known=()):
    """Return cases by service, operation and client: of *known*, and of the rows that workers have left in *folder*."""
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    for service, operations in dict(known).items():
        for operation, clients in operations.items():
            for client, cases in clients.items():
                found[service][operation][client] |= set(cases)
    for path in sorted(Path(folder).glob("*.rows")):
        for line in path.read_text(encoding="utf-8").splitlines():
            service, operation, client, case = json.loads(line)
            if service in SERVICES:
                found[service][operation][client].add(re.sub(r"^.*?tests/", "tests/", case))
    return {
        service: {
            operation: {client: sorted(cases) for client, cases in sorted(clients.items())}
            for operation, clients in sorted(operations.items())
        }
        for service, operations in sorted(found.items())
    }


def rendered(matrix, facts):
    """Return the page of a matrix; *facts* are lines of its head: date, versions, outcome."""
    order = [name for name, _, _ in CLIENTS]
    parts = [HEAD + "".join(f"| {name} | {value} |\n" for name, value in facts.items())]
    for service, operations in sorted(matrix.items(), key=lambda item: list(SERVICES).index(item[0])):
        clients = sorted({client for row in operations.values() for client in row}, key=order.index)
        lines = [("operation", *clients), ("---",) * (len(clients) + 1)]
        lines += [
            (f"`{operation}`", *(str(len(row[client])) if client in row else "" for client in clients))
            for operation, row in operations.items()
        ]
        parts.append(f"## {SERVICES[service]}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines))
    return "\n".join(parts)
