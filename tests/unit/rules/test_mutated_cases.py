"""Five thousand mutated stacks: nothing that a resource holds makes a rule raise."""

import random
from typing import Any

from berth.rules.check import check
from berth.rules.resource import Resource
from berth.rules.unknown import UNKNOWN
from tests.unit.rules.test_any_shape import places, put
from tests.unit.rules.test_reported_cases import CASES

SETS = 5_000
ODD_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 10**12, 1.5, float("nan"), float("inf"), UNKNOWN),
    *("", "1", "-1", "1e9", "1e999", "0.5", "$(X)", "sh", "-c", "'", "nvidia.com/gpu", "x" * 300),
    *([], {}, [UNKNOWN], [None], {"a": 1}, {"name": UNKNOWN}, "[", "{a: ["),
]


def mutated(chooser: random.Random) -> list[Resource]:
    """A reported stack with up to three odd values in each resource."""
    stack = []
    for entry in chooser.choice(CASES)["stack"]:
        props: Any = entry["props"]
        for _ in range(chooser.randint(0, 3)):
            inside = places(props)[1:]
            if inside:
                props = put(props, chooser.choice(inside), chooser.choice(ODD_VALUES))
        stack.append(Resource(entry["type"], entry["name"], f"urn:{entry['name']}", props))
    return stack


def test_no_exception_escapes_a_rule() -> None:
    chooser = random.Random(2026)
    surprises = set()
    texts = set()
    for _ in range(SETS):
        report = check(mutated(chooser))
        surprises |= {(found.kind, found.error) for found in report.surprises}
        texts |= {text for found in report.findings for text in (found.message, found.fix)}

    assert surprises == set()
    assert [text for text in texts if "UNKNOWN" in text or len(text.splitlines()) != 1] == []
