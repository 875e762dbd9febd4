"""The pinned software: versions that were chosen together."""

from berth.catalog.software import Engine, load_software


def test_vllm_is_pinned_per_vendor() -> None:
    engines = load_software().vllm

    assert engines["nvidia"].image == "vllm/vllm-openai:v0.32.0"
    assert engines["amd"].image == "vllm/vllm-openai-rocm:v0.31.0"


def test_the_tag_says_the_version() -> None:
    engines = load_software().vllm.values()

    assert [each.tag for each in engines] == [f"v{each.version}" for each in engines]


def test_a_digest_that_nobody_read_stays_empty() -> None:
    assert [each.digest for each in load_software().vllm.values()] == [None, None]


def test_a_known_digest_is_part_of_the_image() -> None:
    engine = load_software().vllm["nvidia"]
    digest = "sha256:" + "0" * 64

    pinned = Engine.model_validate(engine.model_dump() | {"digest": digest})

    assert pinned.image == f"vllm/vllm-openai:v0.32.0@{digest}"


def test_the_gpu_operator_does_not_inject_every_network_device() -> None:
    """26.3.3 is the first of its line that does not."""
    chart = load_software().charts["gpu-operator"]

    assert chart.version == "v26.3.3"
    assert str(chart.repository_url) == "https://helm.ngc.nvidia.com/nvidia"


def test_kubernetes_versions_are_in_order() -> None:
    versions = load_software().kubernetes.versions

    assert list(versions) == sorted(versions)
    assert "1.35" in versions
