"""Two runs at once."""

import threading
from pathlib import Path

from berth.engine.tools.lock import only_one_run


def test_a_second_run_says_that_it_waits_and_then_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    waits, went_on = threading.Event(), threading.Event()

    def tell(line: str) -> None:
        told.append(line)
        waits.set()

    def second_run() -> None:
        with only_one_run(tmp_path, tell):
            went_on.set()

    thread = threading.Thread(target=second_run)
    with only_one_run(tmp_path, told.append):
        thread.start()
        assert waits.wait(10)
        assert not went_on.is_set()
    thread.join(10)

    assert told == [f"{tmp_path.name}: waiting for another run"]
    assert went_on.is_set()
