"""The compatibility matrix: it parses, refers, is in order, and no row breaks a floor."""

from datetime import date
from typing import get_args

import pytest

from berth.catalog.compatibility import Combination, load_compatibility, version_numbers
from berth.catalog.gpu import load_gpus
from berth.catalog.instance import AmiType, load_instances
from berth.catalog.software import load_software

MATRIX = load_compatibility()
ROWS = [pytest.param(row, id=name) for name, row in MATRIX.combinations.items()]
NVIDIA_ROWS = [
    pytest.param(row, id=name) for name, row in MATRIX.combinations.items() if row.driver
]


@pytest.mark.parametrize(
    ("component", "applies_to", "minimum"),
    [
        pytest.param("driver", "CUDA 13", "580.65.06", id="driver-cuda-13"),
        pytest.param("driver", "CUDA 11", "450.80.02", id="driver-cuda-11"),
        pytest.param("driver", "CUDA 12", "525.60.13", id="driver-cuda-12"),
        pytest.param("container_toolkit", "everything", "1.17.8", id="toolkit"),
    ],
)
def test_todays_floors_are_those_of_the_vendor(
    component: str, applies_to: str, minimum: str
) -> None:
    floor = MATRIX.current_floor(component, applies_to)  # type: ignore[arg-type]  # of a table

    assert floor.minimum == minimum


@pytest.mark.parametrize(
    ("component", "minimum"),
    [("driver", "525"), ("cuda", "12.1"), ("container_toolkit", "1.14.0"), ("vllm", "0.4.0")],
)
def test_historic_floors_are_on_record_and_never_todays(component: str, minimum: str) -> None:
    (floor,) = [f for f in MATRIX.floors if (f.component, f.minimum) == (component, minimum)]

    assert floor.status == "historic"


def test_a_floor_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(LookupError, match="no floor of driver for CUDA 14 is known"):
        MATRIX.current_floor("driver", "CUDA 14")


def test_rows_and_floors_are_sorted() -> None:
    floors = [(floor.component, version_numbers(floor.minimum)) for floor in MATRIX.floors]

    assert list(MATRIX.combinations) == sorted(MATRIX.combinations)
    assert floors == sorted(floors)


@pytest.mark.parametrize("row", ROWS)
def test_rows_refer_to_known_things(row: Combination) -> None:
    assert set(row.gpus) <= set(load_gpus())
    assert set(row.kubernetes) <= set(load_software().kubernetes.versions)
    assert row.node_image in get_args(AmiType) or row.node_image.startswith("Ubuntu ")


@pytest.mark.parametrize("row", ROWS)
def test_no_row_is_from_the_future(row: Combination) -> None:
    assert row.source.checked <= date.today()


@pytest.mark.parametrize("row", NVIDIA_ROWS)
def test_the_driver_of_a_row_serves_its_cuda_and_its_gpus(row: Combination) -> None:
    cuda = MATRIX.current_floor("driver", f"CUDA {(row.cuda or '').partition('.')[0]}").minimum
    wanted = [cuda, *(load_gpus()[key].minimum_driver or "0" for key in row.gpus)]

    assert version_numbers(row.driver or "0") >= max(map(version_numbers, wanted))


@pytest.mark.parametrize("row", NVIDIA_ROWS)
def test_the_toolkit_of_a_row_lets_nobody_out(row: Combination) -> None:
    floor = MATRIX.current_floor("container_toolkit", "everything").minimum

    assert version_numbers(row.container_toolkit or "0") >= version_numbers(floor)


@pytest.mark.parametrize("key", [key for key, gpu in load_gpus().items() if gpu.tier])
def test_every_tier_has_a_row_with_the_vllm_that_is_installed(key: str) -> None:
    installed = load_software().vllm[load_gpus()[key].vendor].version

    assert installed in {row.vllm for row in MATRIX.combinations_of(key).values()}


@pytest.mark.parametrize("row", ROWS)
def test_a_stock_image_runs_on_the_instances_of_its_gpus(row: Combination) -> None:
    instances = [i for i in load_instances().values() if i.gpu in row.gpus]
    stock = row.node_image in get_args(AmiType) and row.node_image != "CUSTOM"

    assert not stock or any(row.node_image in each.ami_types for each in instances)
