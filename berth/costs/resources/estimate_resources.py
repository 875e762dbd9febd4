"""An estimate from the resources of one side of an engine document."""

from collections import defaultdict
from collections.abc import Iterator

from berth.catalog.load import Catalog
from berth.costs.bought import Bought, PriceList, priced
from berth.costs.estimate import Estimate, Unpriced
from berth.costs.from_plan import Found, estimate_of, pool_nodes
from berth.costs.owners import owned_by, owned_by_plan
from berth.costs.resources.around import ByType, around
from berth.costs.resources.documents import Side
from berth.costs.resources.node_lines import node_lines
from berth.costs.resources.node_pool import POOL_TYPES, read_pool, templates_of
from berth.costs.resources.others import others
from berth.costs.resources.owners import Owners
from berth.costs.resources.resource import Declared
from berth.costs.resources.values import NotShownError
from berth.costs.servers import plan_uses
from berth.planner.plan import Plan


def estimate_resources(
    side: Side, catalog: Catalog, prices: PriceList, plan: Plan | None = None
) -> Estimate:
    """What the resources of `side` cost.

    Args:
        side: before or after a change.
        catalog: instance types and their GPUs.
        prices: of the stack's region, as of a day.
        plan: of the stack, where its settings are known: they say what no resource shows, such as
            the fee of a block, the price of nodes that exist, and the load of a server.
    """
    by_type: dict[str, list[Declared]] = defaultdict(list)
    for resource in side.resources.values():
        by_type[resource.type].append(resource)
    found: list[Found] = []
    templates = templates_of(side.resources)
    who = Owners(side) if plan is None else Owners(Side(resources={}))
    for resource in _pools_of(by_type, plan):
        try:
            pool = read_pool(resource, templates)
        except NotShownError as error:
            found.append(Unpriced(resource=resource.name, reason=str(error)))
            continue
        found.extend(owned_by(list(node_lines(pool, plan, catalog, prices)), who.of(resource)))
    if plan is not None:
        for each in plan.pools.values():
            if each.capacity is None:
                found.extend(pool_nodes(each, plan, prices))
    for owner, owned in who.apart(by_type):
        things = [
            priced(thing, prices) if isinstance(thing, Bought) else thing for thing in around(owned)
        ]
        found.extend(owned_by(things, owner))
    found.extend(others(by_type, with_settings=plan is not None))
    found.extend(Unpriced(resource=gap.resource, reason=gap.reason) for gap in side.gaps)
    if plan is not None:
        return estimate_of(owned_by_plan(found, plan), *plan_uses(plan))
    return estimate_of(found, [], [])  # which pods ask for its GPUs is not read here


def _pools_of(by_type: ByType, plan: Plan | None) -> Iterator[Declared]:
    for kind in sorted(POOL_TYPES):
        yield from by_type.get(kind, ())
