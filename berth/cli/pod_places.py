"""The pools that each of many pods is sure to run on, found without asking every pool for each."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from berth.rules.stack_view.nodes import pools_for
from berth.rules.stack_view.pool import Pool
from berth.rules.stack_view.workload import Pod

_INSTANCE_TYPES: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
"""Judged by what a pool may start, not by a label that it states."""


class PodPlaces:
    """Answers for the pods of one stack."""

    def __init__(self, pools: Sequence[Pool]) -> None:
        self._pools = pools
        self._known: dict[str, tuple[Pool, ...]] = {}
        self._by_label: dict[str, tuple[Mapping[str, list[Pool]], list[Pool]]] = {}

    def pools_for(self, pod: Pod) -> tuple[Pool, ...]:
        """The pools that the pod is sure to fit; empty if there is doubt.

        Raises:
            KnownAfterApplyError: if that rests on what is known after apply.
        """
        placement = [pod.spec.at(key).value for key in ("nodeSelector", "affinity", "tolerations")]
        asked = sorted(key for container in pod.containers for key in container.asked_keys)
        signature = json.dumps([*placement, asked], default=repr)
        if signature not in self._known:
            self._known[signature] = pools_for(pod, self._near(placement[0]))
        return self._known[signature]

    def _near(self, selector: object) -> Sequence[Pool]:
        """The pools that no label of the selector rules out for sure."""
        fewest = self._pools
        for key, value in selector.items() if isinstance(selector, Mapping) else ():
            if isinstance(value, str) and key not in _INSTANCE_TYPES:
                with_value, open_ones = self._of(str(key))
                found = [*with_value.get(value, ()), *open_ones]
                fewest = found if len(found) < len(fewest) else fewest
        return fewest

    def _of(self, key: str) -> tuple[Mapping[str, list[Pool]], list[Pool]]:
        """Pools by what they state for a label, and those of which nobody can say."""
        if key not in self._by_label:
            stated: dict[str, list[Pool]] = defaultdict(list)
            open_ones: list[Pool] = []
            for pool in self._pools:
                label = pool.label(key) if pool.kind == "node group" else None
                if isinstance(label, str):
                    stated[label].append(pool)
                elif label is not None or pool.kind != "node group":
                    open_ones.append(pool)
            self._by_label[key] = (stated, open_ones)
        return self._by_label[key]
