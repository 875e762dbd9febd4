"""Each refusal word for word: file, line, path, value given, value wanted."""

from collections.abc import Callable

import pytest

Changed = Callable[[str, str, str], list[str]]
Refusal = Callable[[str | bytes], list[str]]

MANY_MISTAKES = """\
config:
  berth:models:
    chat: {tier: h10}
  berth:tiers:
    h100:
      instance_type: p5.48xlarge
      capacity:
        type: CAPACITY_BLOCK
        availability_zone: 1b
        starts_at: 2027-01-29T11:30:00Z
        ends_at: 2026-11-20T11:30:00Z
        instance_count: {secure: AAABAHidden}
      min_nodes: 3
      max_nodes: 2
      max_nodes: 3
    l4: 5
  berth:enviroment: dev
"""

CASES = [
    pytest.param(
        "on-demand",
        "      max_nodes: 2",
        "      max_nodes: 2\n      min_node: 1",
        "a.yaml:13: berth:tiers.l4.min_node: unknown key, value 1; did you mean min_nodes",
        id="unknown-key-close-to-a-known-one",
    ),
    pytest.param(
        "on-demand",
        "      tier: l4",
        "      tier: l4\n      colour: green",
        "a.yaml:17: berth:models.chat.colour: unknown key, value green; remove it, or use one of "
        "model, tier, quantization, kv_cache_dtype, max_model_len, max_num_seqs, "
        "max_num_batched_tokens, gpu_memory_utilization, tensor_parallel_size, "
        "pipeline_parallel_size, data_parallel_size, expert_parallel, replicas, load, goals, "
        "image, calibration",
        id="unknown-key-far-from-all",
    ),
    pytest.param(
        "on-demand",
        "      max_nodes: 2",
        "      max_nodes: 2\n      fee_usd: {a: 1}",
        "a.yaml:13: berth:tiers.l4.fee_usd: unknown key, value a mapping of 1 key; "
        "move it below capacity",
        id="key-one-level-too-high",
    ),
    pytest.param(
        "on-demand",
        "{type: ON_DEMAND}",
        "{type: ON_DEMAND, reservation_id: cr-0123456789abcdef0}",
        "a.yaml:11: berth:tiers.l4.capacity.reservation_id: unknown key, value "
        "cr-0123456789abcdef0; set type: ODCR or CAPACITY_BLOCK, or remove it",
        id="key-of-another-capacity-type",
    ),
    pytest.param(
        "on-demand",
        "      max_nodes: 2",
        "      max_nodes: 2\n      nodes: 2",
        "a.yaml:13: berth:tiers.l4.nodes: unknown key, value 2; set source: existing or "
        "hybrid, or remove it",
        id="key-of-another-source",
    ),
    pytest.param(
        "on-demand",
        "    endpoint: private",
        "    endpoint: private\n    context: prod",
        "a.yaml:8: berth:cluster.context: unknown key, value prod; remove it, or give only "
        "kubeconfig, context",
        id="key-of-a-cluster-that-exists",
    ),
    pytest.param(
        "on-demand",
        "berth:environment: dev",
        "berth:environment: dev\n  berth:budgte: [1, 2]",
        "a.yaml:4: berth:budgte: unknown key, value a list of 2 values; did you mean berth:budget",
        id="unknown-key-at-the-top",
    ),
    pytest.param(
        "on-demand",
        "      max_nodes: 2",
        f"      max_nodes: 2\n      note: {'x' * 60}",
        f"a.yaml:13: berth:tiers.l4.note: unknown key, value {'x' * 37}...; remove it, or use one "
        "of source, instance_type, capacity, min_nodes, max_nodes, root_disk_gib, ami_type, "
        "ami_id, mig_profile",
        id="long-value-is-shortened",
    ),
    pytest.param(
        "on-demand",
        "      model: meta-llama/Llama-3.1-8B-Instruct\n",
        "",
        "a.yaml:14: berth:models.chat.model: missing; add model: <a catalog key>",
        id="missing-key",
    ),
    pytest.param(
        "on-demand",
        "  berth:environment: dev\n",
        "",
        "a.yaml:1: berth:environment: missing; add berth:environment: <dev or prod>",
        id="missing-key-at-the-top",
    ),
    pytest.param(
        "on-demand",
        "{type: ON_DEMAND}",
        "{}",
        "a.yaml:11: berth:tiers.l4.capacity.type: missing; add type: <ON_DEMAND or SPOT or "
        "ODCR or CAPACITY_BLOCK>",
        id="missing-choice",
    ),
    pytest.param(
        "existing",
        "source: existing, ",
        "",
        "a.yaml:5: berth:tiers.amd.source: missing; add source: existing",
        id="missing-source-where-the-keys-tell-it",
    ),
    pytest.param(
        "existing",
        "kubeconfig: ~/.kube/config, ",
        "",
        "a.yaml:3: berth:cluster.kubeconfig: missing; "
        "add kubeconfig: <the path of a kubeconfig file>",
        id="half-of-a-cluster-that-exists",
    ),
    pytest.param(
        "on-demand",
        "  aws:region: us-east-1\n",
        "",
        "a.yaml:1: aws:region: missing, and the stack makes an EKS cluster; "
        "add aws:region: <an AWS region>",
        id="new-cluster-without-region",
    ),
    pytest.param(
        "on-demand",
        "berth:environment: dev",
        "berth:environment: prd",
        "a.yaml:3: berth:environment: prd is not dev or prod; did you mean prod",
        id="none-of-few-values-but-close",
    ),
    pytest.param(
        "on-demand",
        "berth:environment: dev",
        "berth:environment: 7",
        "a.yaml:3: berth:environment: 7 is not dev or prod; write dev or prod",
        id="none-of-few-values",
    ),
    pytest.param(
        "on-demand",
        "berth:environment: dev",
        "berth:environment:",
        "a.yaml:3: berth:environment: has no value; give dev or prod",
        id="none-of-few-values-because-empty",
    ),
    pytest.param(
        "on-demand",
        "{type: ON_DEMAND}",
        "{type: SPOTTY}",
        "a.yaml:11: berth:tiers.l4.capacity.type: SPOTTY is not ON_DEMAND or SPOT or ODCR or "
        "CAPACITY_BLOCK; did you mean SPOT",
        id="unknown-capacity-type",
    ),
    pytest.param(
        "existing",
        "source: existing",
        "source: exist",
        "a.yaml:5: berth:tiers.amd.source: exist is not eks or existing or hybrid; "
        "did you mean existing",
        id="unknown-source",
    ),
    pytest.param(
        "on-demand",
        "endpoint: private",
        "endpoint: public",
        "a.yaml:7: berth:cluster.endpoint: public is not private or {public_cidrs: [...]}; "
        "write one such as private",
        id="endpoint-of-another-word",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 0",
        "a.yaml:12: berth:tiers.l4.max_nodes: 0 is below 1; give 1 or more",
        id="below-the-least",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 1001",
        "a.yaml:12: berth:tiers.l4.max_nodes: 1001 is above 1000; give 1000 or less",
        id="above-the-most",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: two",
        "a.yaml:12: berth:tiers.l4.max_nodes: two is not a whole number; write one such as 1",
        id="word-for-a-number",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        'max_nodes: "2"',
        'a.yaml:12: berth:tiers.l4.max_nodes: "2" in quotes is text, not a whole number; '
        "write 2 without quotes",
        id="number-in-quotes",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 2.5",
        "a.yaml:12: berth:tiers.l4.max_nodes: 2.5 is not a whole number; write one such as 1",
        id="fraction-for-a-count",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: true",
        "a.yaml:12: berth:tiers.l4.max_nodes: true is not a whole number; write one such as 1",
        id="truth-value-for-a-count",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes:",
        "a.yaml:12: berth:tiers.l4.max_nodes: has no value; give a whole number, such as 1",
        id="empty-value",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 010",
        "a.yaml:12: berth:tiers.l4.max_nodes: 010 is an unusual spelling of a number; "
        "write plain digits, or put it in quotes if it is text",
        id="octal",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: [2]",
        "a.yaml:12: berth:tiers.l4.max_nodes: a list of 1 value is not a whole number; "
        "write one such as 1",
        id="list-for-a-number",
    ),
    pytest.param(
        "on-demand",
        '"1.35"',
        "1.30",
        'a.yaml:6: berth:cluster.kubernetes_version: 1.30 without quotes is not text; write "1.30"',
        id="version-that-yaml-reads-as-a-number",
    ),
    pytest.param(
        "on-demand",
        '"1.35"',
        '"1.3"',
        "a.yaml:6: berth:cluster.kubernetes_version: 1.3 is not a Kubernetes minor version; "
        "write one such as 1.35",
        id="version-of-another-spelling",
    ),
    pytest.param(
        "on-demand",
        "aws:region: us-east-1",
        "aws:region: us-east",
        "a.yaml:2: aws:region: us-east is not an AWS region; write one such as us-east-1",
        id="region-of-another-spelling",
    ),
    pytest.param(
        "on-demand",
        "berth:as_of: 2026-11-30",
        "berth:as_of: 2026-02-30",
        "a.yaml:4: berth:as_of: 2026-02-30 is not a day; write one such as 2026-11-30",
        id="day-that-does-not-exist",
    ),
    pytest.param(
        "on-demand",
        "berth:as_of: 2026-11-30",
        "berth:as_of: 20261130",
        "a.yaml:4: berth:as_of: 20261130 is not a day; write one such as 2026-11-30",
        id="number-for-a-day",
    ),
    pytest.param(
        "block",
        "2026-11-20T11:30:00Z",
        "2026-11-20T11:30:00",
        "a.yaml:12: berth:tiers.h100.capacity.starts_at: 2026-11-20T11:30:00 has no time zone; "
        "append Z for UTC, or an offset such as +01:00",
        id="time-without-zone",
    ),
    pytest.param(
        "block",
        "2026-11-20T11:30:00Z",
        "1763638200",
        "a.yaml:12: berth:tiers.h100.capacity.starts_at: 1763638200 is not a point in time with "
        "its zone; write one such as 2026-11-20T11:30:00Z",
        id="seconds-for-a-time",
    ),
    pytest.param(
        "block",
        "cr-0123456789abcdef0",
        "cr-0123",
        "a.yaml:10: berth:tiers.h100.capacity.reservation_id: cr-0123 is not the id of a Capacity "
        "Block; write one such as cr-0123456789abcdef0",
        id="id-of-another-spelling",
    ),
    pytest.param(
        "block",
        "fee_usd: 132149",
        "fee_usd: 1.1234567",
        "a.yaml:15: berth:tiers.h100.capacity.fee_usd: 1.1234567 has more than 6 decimal places; "
        "round it to 6",
        id="amount-finer-than-prices-are",
    ),
    pytest.param(
        "block",
        "fee_usd: 132149",
        "fee_usd: 0",
        "a.yaml:15: berth:tiers.h100.capacity.fee_usd: 0 is not above 0; give more than 0",
        id="amount-of-nothing",
    ),
    pytest.param(
        "block",
        "fee_usd: 132149",
        "fee_usd: 132k",
        "a.yaml:15: berth:tiers.h100.capacity.fee_usd: 132k is not an amount in USD; "
        "write one such as 1.85",
        id="word-for-an-amount",
    ),
    pytest.param(
        "block",
        "tier: h100}",
        "tier: h100, gpu_memory_utilization: 92}",
        "a.yaml:19: berth:models.chat.gpu_memory_utilization: 92 is above 1; give 1 or less",
        id="percent-for-a-share",
    ),
    pytest.param(
        "block",
        "tier: h100}",
        'tier: h100, gpu_memory_utilization: "0.9"}',
        'a.yaml:19: berth:models.chat.gpu_memory_utilization: "0.9" in quotes is text, not a '
        "share of 1; write 0.9 without quotes",
        id="share-in-quotes",
    ),
    pytest.param(
        "block",
        "p5.48xlarge",
        "p" * 301,
        f"a.yaml:7: berth:tiers.h100.instance_type: {'p' * 37}... is longer than 300 characters; "
        "shorten it",
        id="text-without-end",
    ),
    pytest.param(
        "block",
        "[203.0.113.0/24]",
        "[203.0.113.7/24]",
        "a.yaml:4: berth:cluster.endpoint.public_cidrs[0]: 203.0.113.7/24 is not a network in CIDR "
        "form; did you mean 203.0.113.0/24",
        id="network-with-host-bits",
    ),
    pytest.param(
        "block",
        "[203.0.113.0/24]",
        "[203.0.113.7]",
        "a.yaml:4: berth:cluster.endpoint.public_cidrs[0]: 203.0.113.7 is not a network in CIDR "
        "form; did you mean 203.0.113.7/32",
        id="address-for-a-network",
    ),
    pytest.param(
        "block",
        "[203.0.113.0/24]",
        "[office]",
        "a.yaml:4: berth:cluster.endpoint.public_cidrs[0]: office is not a network in CIDR form; "
        "write one such as 203.0.113.0/24",
        id="word-for-a-network",
    ),
    pytest.param(
        "block",
        "[203.0.113.0/24]",
        "[203.0.113.0/24, 203.0.113.128/25]",
        "a.yaml:4: berth:cluster.endpoint.public_cidrs[1]: 203.0.113.128/25 is already part of "
        "203.0.113.0/24; remove it",
        id="networks-that-overlap",
    ),
    pytest.param(
        "block",
        "[203.0.113.0/24]",
        "[]",
        "a.yaml:4: berth:cluster.endpoint.public_cidrs: is empty; give a list of networks, such as "
        "[203.0.113.0/24]",
        id="no-network",
    ),
    pytest.param(
        "block",
        "[203.0.113.0/24]",
        f"[{', '.join(f'203.0.113.{host}/32' for host in range(41))}]",
        "a.yaml:4: berth:cluster.endpoint.public_cidrs: has 41 values, more than 40; remove 1",
        id="more-networks-than-eks-takes",
    ),
    pytest.param(
        "on-demand",
        "    l4:\n",
        "    L4:\n",
        "a.yaml:9: berth:tiers.L4: L4 is not a name of 1 to 30 lower-case letters, digits and "
        "hyphens, a letter first; write one such as chat",
        id="name-of-another-spelling",
    ),
    pytest.param(
        "on-demand",
        "      tier: l4",
        "      tier: l40",
        "a.yaml:16: berth:models.chat.tier: l40 is not in berth:tiers, which has l4; "
        "did you mean l4",
        id="tier-that-does-not-exist",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 2\n      min_nodes: 3",
        "a.yaml:13: berth:tiers.l4.min_nodes: 3 is above max_nodes 2; "
        "lower it to 2, or raise max_nodes",
        id="min-above-max",
    ),
    pytest.param(
        "block",
        "max_nodes: 2",
        "max_nodes: 3",
        "a.yaml:17: berth:tiers.h100.max_nodes: 3 is above capacity.instance_count 2; "
        "lower it to 2, because a block has no more instances",
        id="more-nodes-than-the-block-has",
    ),
    pytest.param(
        "block",
        "us-east-1b",
        "eu-west-1b",
        "a.yaml:11: berth:tiers.h100.capacity.availability_zone: eu-west-1b is not in aws:region "
        "us-east-1; write a zone such as us-east-1a, or change aws:region",
        id="zone-of-another-region",
    ),
    pytest.param(
        "block",
        "ends_at: 2027-01-29T11:30:00Z",
        "ends_at: 2026-11-20T12:30:00+01:00",
        "a.yaml:12: berth:tiers.h100.capacity.starts_at: 2026-11-20T11:30:00Z is not before "
        "ends_at 2026-11-20T12:30:00+01:00; exchange them, or correct one",
        id="block-that-ends-as-it-starts",
    ),
    pytest.param(
        "existing",
        '{source: existing, gpu: MI300X, gpus_per_node: 8, nodes: 2, usd_per_gpu_hour: "1.85"}',
        "{instance_type: g6.xlarge, capacity: {type: ON_DEMAND}, max_nodes: 1}",
        "a.yaml:5: berth:tiers.amd: makes EKS nodes, but berth:cluster is one that exists, by its "
        "kubeconfig; give source: existing with gpu, gpus_per_node and nodes, or make a new "
        "cluster",
        id="eks-nodes-in-a-cluster-that-exists",
    ),
    pytest.param(
        "on-demand",
        "{type: ON_DEMAND}\n      max_nodes: 2",
        "{type: ON_DEMAND}\n      max_nodes: 2\n"
        "    own: {source: existing, gpu: L4, gpus_per_node: 1, nodes: 1}",
        "a.yaml:13: berth:tiers.own.source: existing nodes cannot be in a cluster that this stack "
        "makes; give kubeconfig and context of their cluster, or source: eks",
        id="existing-nodes-in-a-new-cluster",
    ),
    pytest.param(
        "on-demand",
        "instance_type: g6.xlarge",
        "instance_type: {secure: AAABAHidden}",
        "a.yaml:10: berth:tiers.l4.instance_type: is a secret, and Berth reads plain values only; "
        "write the value itself, without secure",
        id="secret",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 2\n      token: {secure: AAABAHidden}",
        "a.yaml:13: berth:tiers.l4.token: unknown key, value a secret; remove it, or use one of "
        "source, instance_type, capacity, min_nodes, max_nodes, root_disk_gib, ami_type, ami_id, "
        "mig_profile",
        id="secret-under-an-unknown-key",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 2\n      hf_token: hf_AAABAHidden",
        "a.yaml:13: berth:tiers.l4.hf_token: unknown key, value a secret; remove it, or use one of "
        "source, instance_type, capacity, min_nodes, max_nodes, root_disk_gib, ami_type, ami_id, "
        "mig_profile",
        id="key-that-names-a-secret",
    ),
    pytest.param(
        "on-demand",
        "berth:environment: dev",
        "berth:environment: dev\n  berth:hf_token: hf_AAABAHidden",
        "a.yaml:4: berth:hf_token: a token in plain text, which everybody with the file can use; "
        "replace it, and set the new one with `pulumi config set --secret berth:hf_token`",
        id="token-in-plain-text",
    ),
    pytest.param(
        "on-demand",
        "berth:environment: dev",
        "berth:environment: dev\n  berth:hf_tokn: hf_AAABAHidden",
        "a.yaml:4: berth:hf_tokn: unknown key, value a secret; did you mean berth:hf_token",
        id="misspelt-token",
    ),
    pytest.param(
        "on-demand",
        "instance_type: g6.xlarge",
        "instance_type: {secrue: AAABAHidden}",
        "a.yaml:10: berth:tiers.l4.instance_type: a mapping of 1 key is not an instance type; "
        "write one such as p5.48xlarge",
        id="misspelt-secret",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 2\n      max_nodes: 3",
        "a.yaml:12: berth:tiers.l4.max_nodes: given twice, in lines 12 and 13; keep one",
        id="key-given-twice",
    ),
    pytest.param(
        "on-demand",
        "max_nodes: 2",
        "max_nodes: 2\n      ? [a, b]\n      : 1",
        "a.yaml:9: berth:tiers.l4: a list or mapping stands where a key should be; "
        "write a plain word before the colon",
        id="list-as-a-key",
    ),
    pytest.param(
        "on-demand",
        "  berth:models:",
        "  berth:tiers: {}\n  berth:models:",
        "a.yaml:8: berth:tiers: given twice, in lines 8 and 13; keep one",
        id="key-given-twice-at-the-top",
    ),
    pytest.param(
        "on-demand",
        "  berth:environment: dev",
        "  berth:environment: dev\n  tiers: {}",
        "a.yaml:4: tiers: has no project before it; did you mean berth:tiers",
        id="key-without-prefix",
    ),
    pytest.param(
        "on-demand",
        "  berth:environment: dev",
        "  berth:environment: dev\n  aws:assumeRoles: [{roleArn: arn}]",
        "a.yaml:4: aws:assumeRoles: would choose the account of the look-ups and not that of the "
        "resources; remove it; set aws:profile, or AWS_PROFILE where it runs",
        id="another-account",
    ),
    pytest.param(
        "on-demand",
        "  berth:environment: dev",
        "  berth:environment: dev\n  berth:region: us-east-1",
        "a.yaml:4: berth:region: unknown key; did you mean aws:region",
        id="region-with-the-wrong-prefix",
    ),
    pytest.param(
        "on-demand",
        "  berth:environment: dev",
        "  berth:environment: dev\n  berth:config:budget: {monthly_usd: 1}",
        "a.yaml:4: berth:config:budget: a key with three parts; write berth:budget",
        id="key-in-pulumis-old-form",
    ),
    pytest.param(
        "on-demand",
        "config:\n",
        "berth:budget: {monthly_usd: 1}\nconfig:\n",
        "a.yaml:1: berth:budget: stands outside config:; move it below config: and indent it",
        id="key-outside-config",
    ),
]


@pytest.mark.parametrize(("stack", "old", "new", "expected"), CASES)
def test_one_mistake_is_one_line(
    stack: str, old: str, new: str, expected: str, changed: Changed
) -> None:
    assert changed(stack, old, new) == [expected]


def test_every_problem_is_told_at_once_in_the_order_of_the_file(refusal: Refusal) -> None:
    lines = refusal(MANY_MISTAKES)

    assert lines == [
        "a.yaml:1: berth:environment: missing; add berth:environment: <dev or prod>",
        "a.yaml:1: berth:cluster: missing; add berth:cluster: <a new cluster, eks_cluster, or "
        "kubeconfig and context of one that exists>",
        "a.yaml:3: berth:models.chat.model: missing; add model: <a catalog key>",
        "a.yaml:3: berth:models.chat.tier: h10 is not in berth:tiers, which has h100, l4; "
        "did you mean h100",
        "a.yaml:7: berth:tiers.h100.capacity.reservation_id: missing; "
        "add reservation_id: <the id of a Capacity Block>",
        "a.yaml:9: berth:tiers.h100.capacity.availability_zone: 1b is not an availability zone; "
        "write one such as us-east-1b",
        "a.yaml:10: berth:tiers.h100.capacity.starts_at: 2027-01-29T11:30:00Z is not before "
        "ends_at 2026-11-20T11:30:00Z; exchange them, or correct one",
        "a.yaml:12: berth:tiers.h100.capacity.instance_count: is a secret, and Berth reads plain "
        "values only; write the value itself, without secure",
        "a.yaml:13: berth:tiers.h100.min_nodes: 3 is above max_nodes 2; "
        "lower it to 2, or raise max_nodes",
        "a.yaml:14: berth:tiers.h100.max_nodes: given twice, in lines 14 and 15; keep one",
        "a.yaml:16: berth:tiers.l4: 5 is not a tier; write one such as "
        "{instance_type: g6.xlarge, capacity: {type: ON_DEMAND}, max_nodes: 1}",
        "a.yaml:17: berth:enviroment: unknown key, value dev; did you mean berth:environment",
    ]


def test_more_than_a_hundred_problems_end_with_their_number(refusal: Refusal) -> None:
    lines = refusal("config:\n" + "".join(f"  berth:z{number}: 1\n" for number in range(300)))

    assert len(lines) == 101
    assert lines[-1] == "a.yaml: 204 more problems; change these first"


HYBRID_STACK = """\
config:
  aws:region: us-east-1
  berth:environment: prod
  berth:cluster:
    kubernetes_version: "1.35"
    endpoint: {public_cidrs: [203.0.113.0/24]}
    hybrid:
      node_cidrs: [10.80.0.0/16]
      pod_cidrs: [10.80.1.0/24, 8.8.8.0/24]
  berth:tiers:
    amd:
      source: hybrid
      hosts: rented
      gpu: MI300X
      gpus_per_node: 8
      vcpus_per_node: 384
      nodes: 1
    spot:
      instance_type: g6.xlarge
      capacity: {type: SPOT}
      max_nodes: 1
    block:
      instance_type: p5.48xlarge
      capacity:
        type: CAPACITY_BLOCK
        availability_zone: us-east-1b
        starts_at: 2026-11-20T11:30:00Z
        ends_at: 2027-01-29T11:30:00Z
        instance_count: 1
        next_reservation_id: cr-0123456789abcdef1
      max_nodes: 1
  berth:models:
    chat: {model: meta-llama/Llama-3.1-8B-Instruct, tier: spot}
"""


def test_ways_of_obtaining_nodes_that_contradict_themselves(refusal: Refusal) -> None:
    lines = refusal(HYBRID_STACK)

    assert [line.partition("; ")[0] for line in lines] == [
        "a.yaml:6: berth:cluster.endpoint: public_cidrs opens the endpoint besides the private "
        "one, and hybrid nodes need one",
        "a.yaml:9: berth:cluster.hybrid.pod_cidrs[0]: 10.80.1.0/24 overlaps 10.80.0.0/16 of "
        "node_cidrs",
        "a.yaml:9: berth:cluster.hybrid.pod_cidrs[1]: 8.8.8.0/24 is not a private IPv4 network, "
        "and hybrid nodes need one",
        "a.yaml:13: berth:tiers.amd.hosts: rented, but AWS supports hybrid nodes on hardware that "
        "is owned or colocated, not in another cloud, and bills each vCPU all the same",
        "a.yaml:24: berth:tiers.block.capacity.reservation_id: missing",
        "a.yaml:24: berth:tiers.block.capacity.next_starts_at: missing beside next_reservation_id",
        "a.yaml:24: berth:tiers.block.capacity.next_ends_at: missing beside next_reservation_id",
        "a.yaml:33: berth:models.chat.replicas: 1 on spot instances in prod, which end with two "
        "minutes' notice",
    ]
