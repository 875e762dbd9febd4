"""The parts of an estimate's JSON as they are read back: by name, type and what may be missing."""

from datetime import date, datetime
from decimal import Decimal

import msgspec

from berth.costs.estimate import CapacityType


class Price(msgspec.Struct, frozen=True):
    """Where a price was read, and of which day it is."""

    source: str
    date: date


class Line(msgspec.Struct, frozen=True):
    """One priced line; older documents have fewer keys."""

    name: str
    detail: str
    resource: str
    quantity: Decimal
    unit: str
    usd_per_unit: Decimal
    floor_usd_per_hour: Decimal
    plan_usd_per_hour: Decimal
    ceiling_usd_per_hour: Decimal
    price: Price
    tier: str | None = None
    item: str | None = None
    region: str | None = None
    capacity_type: CapacityType | None = None
    floor_quantity: Decimal | None = None
    ceiling_quantity: Decimal | None = None
    owner: str | None = None
    cost_center: str | None = None
    low_usd_per_unit: Decimal | None = None


class OneOff(msgspec.Struct, frozen=True):
    """Money paid once."""

    name: str
    usd: Decimal
    starts_at: datetime
    ends_at: datetime
    refundable: bool
    tier: str | None = None
    price: Price | None = None
    owner: str | None = None
    cost_center: str | None = None


class Server(msgspec.Struct, frozen=True):
    """One model server and the price of its tokens."""

    name: str
    tier: str
    model: str = ""
    gpus: int = 0
    node_share: Decimal = Decimal(0)
    usd_per_hour: Decimal | None = None
    paid_once: bool = False
    usd_per_1m_output_tokens: Decimal | None = None
    usd_per_1m_input_tokens: Decimal | None = None
    at_full_load: Decimal | None = None
    input_at_full_load: Decimal | None = None
    utilization: Decimal | None = None


class IdlePart(msgspec.Struct, frozen=True):
    """GPUs of one tier that serve nothing as planned."""

    tier: str
    reason: str
    gpus: int
    usd_per_hour: Decimal


class Idle(msgspec.Struct, frozen=True):
    """All GPUs that serve nothing as planned."""

    gpus: int = 0
    usd_per_hour: Decimal = Decimal(0)
    parts: tuple[IdlePart, ...] = ()


class Unpriced(msgspec.Struct, frozen=True):
    """Something that costs money whose price is not known."""

    resource: str
    reason: str
