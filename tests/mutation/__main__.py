"""`make mutate`: flips each comparison and boolean of `berth/rules`, and says what no test notices.

Names of modules narrow it: `python -m tests.mutation drivers agents`.
"""

import os
import sys
import time
from pathlib import Path

import pytest

from tests.mutation.mutants import places
from tests.mutation.runner import MutationRun, modules, seconds_since

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "berth" / "rules"
TESTS = ("tests/unit/rules", "tests/unit/policy_pack", "tests/unit/cli/test_check.py")
RANDOM = ("test_any_shape.py", "test_mutated_cases.py")
"""Their inputs are chosen anew in each run; a mutant must not depend on them."""
WANTED = 0.95


def main(names: list[str]) -> int:
    """Print what survived; 1 if less than `WANTED` of the mutants were noticed."""
    start = time.monotonic()
    chosen = [path for path in modules(RULES) if not names or path.stem in names]
    run = MutationRun([p for path in chosen for p in places(path)], os.cpu_count() or 1)
    ignored = [f"--ignore={ROOT / 'tests/unit/rules' / name}" for name in RANDOM]
    code = pytest.main(["-q", "-p", "no:cacheprovider", *ignored, *TESTS], plugins=[run])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return int(code)
    lost = [("survived", p) for p in run.survivors] + [("not reached", p) for p in run.unreached]
    for word, place in sorted(lost, key=lambda pair: (pair[1].path, pair[1].line)):
        where = f"{place.path.relative_to(ROOT)}:{place.line}:{place.column + 1}"
        print(f"{where}: {word}: {place.was}")
    killed = len(run.tried) - len(lost)
    share = killed / len(run.tried) if run.tried else 1.0
    print(
        f"{killed} of {len(run.tried)} flips noticed, {share:.1%} (at least {WANTED:.0%} wanted), "
        f"in {seconds_since(start)} s"
    )
    return int(share < WANTED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
