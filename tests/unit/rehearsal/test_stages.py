"""Stages of pods: how long a model server takes, and that nothing else waits."""

from typing import Any

import pytest
import yaml

from berth.rehearsal.stages import stages_document


def stages(**ready_after_ms: int) -> dict[str, Any]:
    documents = yaml.safe_load_all(stages_document(ready_after_ms))
    return {each["metadata"]["name"]: each["spec"] for each in documents}


def test_without_model_servers_nothing_waits() -> None:
    assert not any("delay" in spec for spec in stages().values())


@pytest.mark.parametrize("server", ["chat", "embed-2"])
def test_a_model_server_has_a_stage_of_its_own(server: str) -> None:
    made = stages(**{server: 4583})

    own = made[f"pod-ready-{server}"]
    assert own["delay"] == {"durationMilliseconds": 4583}
    assert own["selector"]["matchLabels"]["app.kubernetes.io/instance"] == server
    assert own["next"] == made["pod-ready"]["next"]


def test_the_common_stage_leaves_model_servers_to_theirs() -> None:
    (excluded,) = [
        each
        for each in stages(chat=1)["pod-ready"]["selector"]["matchExpressions"]
        if each["operator"] == "NotIn"
    ]

    assert excluded["values"] == ["vllm"]


def test_whether_the_probe_waits_is_counted_in_life() -> None:
    """4,583 ms on a clock 60 times faster are 275 s; the two stages exclude each other."""
    made = {
        each["metadata"]["name"]: each["spec"]
        for each in yaml.safe_load_all(stages_document({"chat": 4583}, 60.0))
    }

    ready = made["pod-ready-chat"]["selector"]["matchExpressions"][-1]
    killed = made["pod-killed-chat"]["selector"]["matchExpressions"][-1]
    assert "< 275" in ready["key"]
    assert ready["key"] == killed["key"]
    assert (ready["operator"], killed["operator"]) == ("NotIn", "In")
    assert "pod-killed" not in made
