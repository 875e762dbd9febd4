"""`berth catalog pin` against a stand-in of Systems Manager: read, written, shown, refused."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.catalog.software import Software, parse_software
from berth.cli.__main__ import main
from berth.engine import public_parameters
from tests.unit.aws_endpoint import Answer, aws_endpoint

SHIPPED = files("berth.catalog").joinpath("software.yaml").read_text(encoding="utf-8")
EKS = "/aws/service/eks/optimized-ami"
BOTTLEROCKET = "/aws/service/bottlerocket"
RELEASES = {
    f"{EKS}/1.35/amazon-linux-2023/x86_64/nvidia/recommended/release_version": "1.35.2-20261120",
    f"{EKS}/1.35/amazon-linux-2023/arm64/nvidia/recommended/release_version": "1.35.2-20261121",
    f"{EKS}/1.35/amazon-linux-2023/x86_64/standard/recommended/release_version": "1.35.2-20261122",
    f"{BOTTLEROCKET}/aws-k8s-1.35-nvidia/x86_64/latest/image_version": "1.52.0-0a1b2c3d",
}
"""Names as https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html has them; the
releases are pretended."""

Serve = Callable[[Callable[[str, Mapping[str, Any]], Answer]], None]


def published(values: Mapping[str, str]) -> Callable[[str, Mapping[str, Any]], Answer]:
    """Systems Manager with these public parameters."""

    def answer(operation: str, request: Mapping[str, Any]) -> Answer:
        assert operation == "GetParameters"
        assert len(request["Names"]) <= 10
        known = [name for name in request["Names"] if name in values]
        return 200, {
            "Parameters": [{"Name": name, "Value": values[name]} for name in known],
            "InvalidParameters": [name for name in request["Names"] if name not in values],
        }

    return answer


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with ExitStack() as stack:

        def start(answer: Callable[[str, Mapping[str, Any]], Answer]) -> None:
            address = stack.enter_context(aws_endpoint(answer))
            monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", address)

        yield start


@pytest.fixture
def software_file(tmp_path: Path) -> Path:
    path = tmp_path / "software.yaml"
    path.write_text(SHIPPED, encoding="utf-8")
    return path


def pin(path: Path, *words: str) -> int:
    where = ("--region", "us-east-1", "--kubernetes-version", "1.35", "--file", str(path))
    return main(["catalog", "pin", *where, *words])


def read(path: Path) -> Software:
    return parse_software(path.read_text(encoding="utf-8"))


def test_releases_are_written_and_every_comment_stays(
    serve: Serve, software_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(published(RELEASES))

    code = pin(software_file)

    out = capsys.readouterr()
    assert code == 0
    assert software_file.read_text(encoding="utf-8").startswith(SHIPPED)
    software = read(software_file)
    assert software.ami_release("us-east-1", "1.35", "AL2023_x86_64_NVIDIA") == "1.35.2-20261120"
    assert software.ami_release("us-east-1", "1.35", "AL2023_ARM_64_NVIDIA") == "1.35.2-20261121"
    assert software.ami_release("us-west-2", "1.35", "AL2023_x86_64_NVIDIA") is None
    assert "us-east-1  1.35  AL2023_x86_64_NVIDIA: none -> 1.35.2-20261120" in out.out
    assert "4 pinned, 0 as they were" in out.out
    assert "aws-k8s-1.35-nvidia/arm64/latest/image_version" in out.err


def test_a_second_run_changes_what_is_newer_and_nothing_else(
    serve: Serve, software_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = f"{EKS}/1.35/amazon-linux-2023/x86_64/nvidia/recommended/release_version"
    serve(published(RELEASES))
    pin(software_file)
    first = software_file.read_text(encoding="utf-8")
    capsys.readouterr()

    serve(published({**RELEASES, newer: "1.35.3-20261201"}))
    pin(software_file)

    assert capsys.readouterr().out.splitlines()[:-1] == [
        "us-east-1  1.35  AL2023_x86_64_NVIDIA: 1.35.2-20261120 -> 1.35.3-20261201"
    ]
    second = software_file.read_text(encoding="utf-8")
    assert second == first.replace("1.35.2-20261120", "1.35.3-20261201")


def test_a_dry_run_shows_and_writes_nothing(
    serve: Serve, software_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(published(RELEASES))

    code = pin(software_file, "--dry-run", "--json")

    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert document["written"] is False
    assert {each["now"] for each in document["changed"]} == set(RELEASES.values())
    assert software_file.read_text(encoding="utf-8") == SHIPPED


def test_all_versions_of_the_catalog_are_asked_for_in_requests_of_ten(
    serve: Serve, software_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = load_catalog().software.kubernetes.versions
    path = f"{EKS}/%s/amazon-linux-2023/x86_64/nvidia/recommended/release_version"
    serve(published({path % version: f"{version}.1-20261120" for version in versions}))

    main(["catalog", "pin", "--region", "eu-west-1", "--file", str(software_file)])

    releases = read(software_file).ami_releases["eu-west-1"].releases
    assert set(releases) == set(versions)
    assert all(set(types) == {"AL2023_x86_64_NVIDIA"} for types in releases.values())
    assert f"{len(versions)} pinned" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param((400, {"__type": "AccessDeniedException", "message": "User: u is not "
                            "authorized to perform: ssm:GetParameters on resource: r"}),
                     "us-east-1: ssm:GetParameters is denied; allow it", id="denied"),
        pytest.param((400, {"__type": "ExpiredTokenException",
                            "message": "The security token included in the request is expired"}),
                     "us-east-1: the credentials have expired; log in again", id="expired"),
        pytest.param((400, {"__type": "UnrecognizedClientException",
                            "message": "The security token included in the request is invalid."}),
                     "us-east-1: AWS does not accept the credentials", id="unknown key"),
        pytest.param((400, {"__type": "ThrottlingException", "message": "Rate exceeded"}),
                     "us-east-1: AWS asks to slow down", id="throttled"),
        pytest.param((200, {"Parameters": [], "InvalidParameters": []}),
                     "us-east-1: AWS publishes none of the 5 parameters", id="empty"),
    ],
)  # fmt: skip
def test_what_aws_refuses_is_told_in_one_line_and_nothing_is_written(
    serve: Serve,
    software_file: Path,
    capsys: pytest.CaptureFixture[str],
    answer: Answer,
    expected: str,
) -> None:
    serve(lambda _operation, _request: answer)

    code = pin(software_file)

    (line,) = capsys.readouterr().err.splitlines()
    assert code == 2
    assert line.startswith(f"berth catalog pin: {expected}")
    assert software_file.read_text(encoding="utf-8") == SHIPPED


@pytest.mark.parametrize("release", ["1.34.2-20261120", "newest", "", "1.35.2-20261120 # x"])
def test_an_answer_that_is_no_release_of_that_version_is_refused(
    release: str, serve: Serve, software_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"{EKS}/1.35/amazon-linux-2023/x86_64/nvidia/recommended/release_version"
    serve(published({**RELEASES, name: release}))

    code = pin(software_file)

    assert code == 2
    assert "is no release of AL2023_x86_64_NVIDIA for Kubernetes 1.35" in capsys.readouterr().err
    assert software_file.read_text(encoding="utf-8") == SHIPPED


def test_nobody_who_answers_is_told_and_named(
    monkeypatch: pytest.MonkeyPatch,
    serve: Serve,
    software_file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A port that takes connections and never answers."""
    monkeypatch.setattr(public_parameters, "READ_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", f"http://127.0.0.1:{silent.getsockname()[1]}")
        code = pin(software_file)

    assert code == 2
    assert "us-east-1: AWS does not answer in time; check the network" in capsys.readouterr().err


def test_without_credentials_it_says_how_to_get_some(
    monkeypatch: pytest.MonkeyPatch,
    serve: Serve,
    software_file: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    serve(published(RELEASES))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    code = pin(software_file)

    assert code == 2
    assert "no AWS credentials were found; set AWS_PROFILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(("--region", "eu-north1"), "did you mean eu-north-1", id="region"),
        pytest.param(("--region", "us-east-1", "--kubernetes-version", "1.9"),
                     "--kubernetes-version 1.9: EKS has 1.30", id="version"),
    ],
)  # fmt: skip
def test_unknown_regions_and_versions_are_refused_before_anything_is_asked(
    words: tuple[str, ...],
    expected: str,
    software_file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["catalog", "pin", *words, "--file", str(software_file)])

    assert code == 2
    assert expected in capsys.readouterr().err


def test_the_regions_of_the_stacks_here_are_the_default(
    monkeypatch: pytest.MonkeyPatch,
    serve: Serve,
    software_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    serve(published(RELEASES))
    monkeypatch.chdir(tmp_path)
    without = main(["catalog", "pin", "--file", str(software_file)])
    assert "no stack here names a region; give --region" in capsys.readouterr().err

    monkeypatch.chdir(Path(__file__).parents[3])
    within = main(["catalog", "pin", "--file", str(software_file)])

    assert (without, within) == (2, 0)
    assert set(read(software_file).ami_releases) == {"us-east-1"}
