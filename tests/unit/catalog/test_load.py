"""The catalog as a whole: every reference between its files holds, and a broken one is named."""

from dataclasses import replace

from berth.catalog.load import dangling_references, load_catalog


def test_the_shipped_catalog_holds_together() -> None:
    assert dangling_references(load_catalog()) == []


def test_it_is_read_once() -> None:
    assert load_catalog() is load_catalog()


def test_a_gpu_that_is_missing_is_named_with_the_instance() -> None:
    catalog = load_catalog()
    gpus = {key: gpu for key, gpu in catalog.gpus.items() if key != "T4"}
    instances = {"g4dn.xlarge": catalog.instances["g4dn.xlarge"]}

    assert dangling_references(replace(catalog, gpus=gpus, instances=instances)) == [
        "instances.yaml: g4dn.xlarge: gpu T4 is not in gpus.yaml"
    ]


def test_a_region_that_is_missing_is_named_with_the_instance() -> None:
    catalog = load_catalog()
    regions = {key: each for key, each in catalog.regions.items() if key != "us-east-1"}
    instances = {"m7i.large": catalog.instances["m7i.large"]}

    assert dangling_references(replace(catalog, regions=regions, instances=instances)) == [
        "instances.yaml: m7i.large: region us-east-1 is not in regions.yaml",
        "prices/us-east-1.yaml: region us-east-1 is not in regions.yaml",
    ]


def test_gpu_and_count_go_together() -> None:
    catalog = load_catalog()
    halved = catalog.instances["g6.xlarge"].model_copy(update={"gpu_count": 0})

    assert dangling_references(replace(catalog, instances={"g6.xlarge": halved})) == [
        "instances.yaml: g6.xlarge: gpu L4 with gpu_count 0; give both or neither"
    ]


def test_every_region_has_zones_of_its_own() -> None:
    regions = load_catalog().regions

    assert regions["us-east-1"].zones == ("a", "b", "c", "d", "e", "f")
    assert all(len(set(each.zones)) == len(each.zones) >= 2 for each in regions.values())
