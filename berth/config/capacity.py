"""How the instances of a tier are bought."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import Discriminator, Tag

from berth.config.model import Config
from berth.config.values import (
    AvailabilityZone,
    Moment,
    NodeCount,
    OfferingId,
    ReservationId,
    ResourceGroupArn,
    Text,
    Usd,
)
from berth.config.wanted import Wanted

TAKEN_BACK_EARLIER: Final = timedelta(minutes=30)
"""Before the end of a block EC2 ends its instances.
Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html"""


class OnDemandCapacity(Config):
    """Instances at list price, started when needed, if the cloud has them."""

    type: Literal["ON_DEMAND"]
    """Instances at list price, where AWS has some."""


class SpotCapacity(Config):
    """Spare instances at a price that moves, taken back with two minutes' notice."""

    type: Literal["SPOT"]
    """Spare instances, which AWS takes back at two minutes' notice."""
    instance_types: Annotated[
        tuple[Annotated[Text, Wanted("an instance type", "g6.2xlarge")], ...],
        Wanted("a list of instance types", "[g6.2xlarge, g6.4xlarge]"),
    ] = ()
    """More types with the same GPUs, so that a pod fits on each; more types, fewer gaps."""


class ReservedCapacity(Config):
    """Instances of an On-Demand Capacity Reservation, paid whether they run or not."""

    type: Literal["ODCR"]
    """Instances of an On-Demand Capacity Reservation."""
    availability_zone: AvailabilityZone
    """The one zone of the reservation."""
    instance_count: NodeCount
    """Instances in the reservation."""
    reservation_id: ReservationId | None = None
    """The reservation that the nodes target."""
    resource_group_arn: ResourceGroupArn | None = None
    """A resource group of reservations that the nodes target. With neither id nor group the
    nodes match an `open` reservation by type and zone."""


class BlockPurchase(Config):
    """Buys a block during `pulumi up`. The whole fee is due at once and is never refunded."""

    offering_id: OfferingId
    """The offering that AWS quoted; it is valid for minutes."""
    pay_whole_fee_now_without_refund: Annotated[Literal[True], Wanted("true", "true")]
    """Says that the author knows; there is no other value."""


class CapacityBlock(Config):
    """Instances paid in advance for a fixed time: an EC2 Capacity Block for ML."""

    type: Literal["CAPACITY_BLOCK"]
    """Instances paid in advance, for a time that is known."""
    reservation_id: ReservationId | None = None
    """The id that AWS gave the block; left out only with `purchase`."""
    purchase: Annotated[BlockPurchase, Wanted("a purchase", "{offering_id: ...}")] | None = None
    """Buys the block; left out, the block is bought already."""
    availability_zone: AvailabilityZone
    """The one zone of the block."""
    starts_at: Moment
    """Start of the block, with its zone (`Z` for UTC)."""
    ends_at: Moment
    """End of the block; AWS takes the instances back 30 minutes before."""
    instance_count: NodeCount
    """Instances in the block."""
    fee_usd: Usd | None = None
    """What was paid; left out: the catalog's dated reading."""
    next_reservation_id: ReservationId | None = None
    """The block that takes over when this one has ended; needs `next_starts_at` and
    `next_ends_at`."""
    next_starts_at: Moment | None = None
    """Start of the block that takes over."""
    next_ends_at: Moment | None = None
    """End of the block that takes over."""
    next_availability_zone: AvailabilityZone | None = None
    """Its zone; left out: the same."""

    def following(self) -> Self | None:
        """The block that takes over, None where the stack names none."""
        if self.next_reservation_id is None or not self.next_starts_at or not self.next_ends_at:
            return None
        return self.model_copy(
            update={
                "reservation_id": self.next_reservation_id,
                "purchase": None,
                "availability_zone": self.next_availability_zone or self.availability_zone,
                "starts_at": self.next_starts_at,
                "ends_at": self.next_ends_at,
                "fee_usd": None,
                "next_reservation_id": None,
                "next_starts_at": None,
                "next_ends_at": None,
                "next_availability_zone": None,
            }
        )

    def serving(self, moment: datetime) -> Self:
        """This block until its end, from then on the one that takes over."""
        following = self.following()
        return following if following is not None and moment >= self.ends_at else self


Capacity = OnDemandCapacity | SpotCapacity | ReservedCapacity | CapacityBlock


def _chosen(value: object) -> object:
    if isinstance(value, Mapping):
        return value.get("type")
    return value.type if isinstance(value, Capacity) else "ON_DEMAND"


CapacityConfig = Annotated[
    Annotated[OnDemandCapacity, Tag("ON_DEMAND")]
    | Annotated[SpotCapacity, Tag("SPOT")]
    | Annotated[ReservedCapacity, Tag("ODCR")]
    | Annotated[CapacityBlock, Tag("CAPACITY_BLOCK")],
    Discriminator(_chosen),
    Wanted("how the instances are bought", "{type: ON_DEMAND}"),
]
