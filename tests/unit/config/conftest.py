"""A small valid stack file to change, and what the reader says about the change."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from berth.config.problems import ConfigError
from berth.config.read import read_stack_file

TODAY = date(2026, 12, 1)

ON_DEMAND = """\
config:
  aws:region: us-east-1
  berth:environment: dev
  berth:as_of: 2026-11-30
  berth:cluster:
    kubernetes_version: "1.35"
    endpoint: private
  berth:tiers:
    l4:
      instance_type: g6.xlarge
      capacity: {type: ON_DEMAND}
      max_nodes: 2
  berth:models:
    chat:
      model: meta-llama/Llama-3.1-8B-Instruct
      tier: l4
"""

BLOCK = """\
config:
  aws:region: us-east-1
  berth:environment: prod
  berth:cluster: {kubernetes_version: "1.35", endpoint: {public_cidrs: [203.0.113.0/24]}}
  berth:tiers:
    h100:
      instance_type: p5.48xlarge
      capacity:
        type: CAPACITY_BLOCK
        reservation_id: cr-0123456789abcdef0
        availability_zone: us-east-1b
        starts_at: 2026-11-20T11:30:00Z
        ends_at: 2027-01-29T11:30:00Z
        instance_count: 2
        fee_usd: 132149
      min_nodes: 1
      max_nodes: 2
  berth:models:
    chat: {model: meta-llama/Llama-3.3-70B-Instruct, tier: h100}
"""

EXISTING = """\
config:
  berth:environment: prod
  berth:cluster: {kubeconfig: ~/.kube/config, context: amd}
  berth:tiers:
    amd: {source: existing, gpu: MI300X, gpus_per_node: 8, nodes: 2, usd_per_gpu_hour: "1.85"}
  berth:models:
    chat: {model: meta-llama/Llama-3.3-70B-Instruct, tier: amd}
"""

Refusal = Callable[[str | bytes], list[str]]


@pytest.fixture
def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refusal:
    """The lines that a file with this content is refused with; the file is called `a.yaml`."""
    monkeypatch.chdir(tmp_path)

    def refused_with(content: str | bytes) -> list[str]:
        path = Path("a.yaml")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ConfigError) as refused:
            read_stack_file(path, TODAY)
        return list(refused.value.lines)

    return refused_with


@pytest.fixture
def changed(refusal: Refusal) -> Callable[[str, str, str], list[str]]:
    """The lines that a valid stack is refused with after one replacement."""

    def refused_with(stack: str, old: str, new: str) -> list[str]:
        text = {"on-demand": ON_DEMAND, "block": BLOCK, "existing": EXISTING}[stack]
        assert text.count(old) == 1, f"{old!r} must be in the stack once"
        return refusal(text.replace(old, new))

    return refused_with


@pytest.fixture
def on_demand() -> str:
    """A valid stack with a new cluster and one pool at list price."""
    return ON_DEMAND


@pytest.fixture
def existing() -> str:
    """A valid stack on a cluster that exists."""
    return EXISTING
