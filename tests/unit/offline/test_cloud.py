"""The pretended cloud: what it keeps, and how a test changes it."""

from pathlib import Path
from threading import Thread

import pytest

from berth.offline.cloud import Cloud, Record
from berth.offline.values import Secret

BUCKET = Record("aws:s3/bucket:Bucket", "us-east-1", "b", "urn:b", {"tags": {"a.b": ["x"]}})


def test_a_second_run_sees_the_same_world(tmp_path: Path) -> None:
    Cloud(tmp_path).put(BUCKET)

    assert Cloud(tmp_path).records() == [BUCKET]


def test_secrets_come_back_and_are_in_no_file(tmp_path: Path) -> None:
    hidden = Record("t", "", "i", "urn:i", {"value": Secret({"token": "hunter2"})})
    Cloud(tmp_path).put(hidden)

    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert Cloud(tmp_path).records() == [hidden]
    assert b"hunter2" not in kept
    assert b"token" not in kept


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        pytest.param("name", "n", {"tags": {"a.b": ["x"]}, "name": "n"}, id="new"),
        pytest.param('tags["a.b"][0]', "y", {"tags": {"a.b": ["y"]}}, id="quoted-key-and-index"),
        pytest.param("tags", None, {}, id="taken-away"),
        pytest.param("tags.c", "d", {"tags": {"a.b": ["x"], "c": "d"}}, id="one-more"),
    ],
)
def test_change(tmp_path: Path, path: str, value: object, expected: dict[str, object]) -> None:
    cloud = Cloud(tmp_path)
    cloud.put(BUCKET)

    cloud.change("b", path, value)

    assert cloud.get("urn:b").properties == expected


def test_what_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    cloud = Cloud(tmp_path)
    cloud.put(BUCKET)

    with pytest.raises(LookupError, match="c: does not exist in the pretended cloud; it has b"):
        cloud.change("c", "name", "n")
    with pytest.raises(LookupError, match=r"\[1\]: no such element"):
        cloud.change("b", 'tags["a.b"][1]', "n")


def test_remove(tmp_path: Path) -> None:
    cloud = Cloud(tmp_path)
    cloud.put(BUCKET)

    cloud.remove("b")

    assert cloud.records() == []


def test_many_makers_lose_nothing(tmp_path: Path) -> None:
    cloud = Cloud(tmp_path)
    records = [Record("t", "", str(number), f"urn:{number}", {}) for number in range(40)]
    threads = [Thread(target=cloud.put, args=[record]) for record in records]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(cloud.records()) == 40
