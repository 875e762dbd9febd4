"""`berth catalog refresh-prices`: readings of the AWS Price List, appended to the price book."""

import argparse
import io
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Final

from berth.catalog.instance import load_instances
from berth.catalog.older_accelerators import load_older_accelerators
from berth.catalog.price import load_prices
from berth.cli.price_file import Appended, append_readings
from berth.cli.price_list import USAGES, Listed, PriceListError, read_price_list
from berth.config.problems import plain

PRICE_LIST: Final = "https://pricing.us-east-1.amazonaws.com"
"""Serves the files of every region, to everybody and without credentials."""
PATH: Final = "/offers/v1.0/aws/{offer}/current/{region}/index.csv"
TIMEOUT_S: Final = 60
ATTEMPTS: Final = 3
SERVER_ERRORS: Final = 500


class RefreshError(Exception):
    """A price list cannot be had; the text says which and why."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what only `refresh-prices` takes."""
    group = parser.add_argument_group("refresh-prices")
    group.add_argument(
        "--price-list", default=PRICE_LIST, metavar="URL", help=f"where it is; {PRICE_LIST}"
    )
    group.add_argument(
        "--folder", type=Path, metavar="DIR", help="files of prices by region; the catalog's own"
    )
    group.add_argument("--dry-run", action="store_true", help="say what is new, and write nothing")


def refresh_prices(args: argparse.Namespace, today: date) -> int:
    """Read the lists of a region and append what is new; 2 if one of them cannot be had.

    Nothing is written before all lists of the region were read.
    """
    folder = args.folder or Path(str(files("berth.catalog").joinpath("prices")))
    path = folder / f"{args.region}.yaml"
    try:
        before = path.read_text("utf-8")
        listed, unclear = _read_all(args.price_list.rstrip("/"), args.region)
        found = append_readings(args.region, before, _wanted(listed), args.price_list, today)
        if found.text != before and not args.dry_run:
            _replace(path, found.text)
    except RefreshError as error:
        return _refuse(str(error))
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        return _refuse(f"{path.name}: {reason}; name a folder that you may write with --folder")
    if args.json:
        print(json.dumps(_document(found, unclear, args.region), indent=2))
    else:
        print("\n".join(_said(found, unclear, args.region)))
    return 0


def _document(found: Appended, unclear: list[str], region: str) -> dict[str, object]:
    return {
        "region": region,
        "changed": list(found.changed),
        "read_again": found.confirmed,
        "as_they_are": found.recent,
        "several_prices": unclear,
    }


def _said(found: Appended, unclear: Iterable[str], region: str) -> Iterator[str]:
    yield from found.changed
    yield (
        f"{region}: {len(found.changed)} prices new or changed, {found.confirmed} read again, "
        f"{found.recent} read within the last days as they are"
    )
    for item in unclear:
        yield f"{item}: the list has several prices of it, so none was taken"


def _wanted(listed: Iterable[Listed]) -> list[Listed]:
    """What the price book is about; a list has hundreds of instance types besides."""
    known = {*load_instances(), *load_older_accelerators().instances.types}
    services = {usage.item for usages in USAGES.values() for usage in usages}
    priced = {
        item for region in load_prices().regions for item, _ in load_prices().histories(region)
    }
    return [each for each in listed if each.item in known | services | priced]


def _read_all(base: str, region: str) -> tuple[list[Listed], list[str]]:
    listed: list[Listed] = []
    unclear: list[str] = []
    for offer in USAGES:
        url = base + PATH.format(offer=offer, region=region)
        with _opened(url) as lines:
            try:
                found, several = read_price_list(lines, offer)
            except (PriceListError, UnicodeDecodeError) as error:
                raise RefreshError(f"{url}: {error}; nothing was written") from None
            except (OSError, TimeoutError) as error:
                raise RefreshError(f"{url}: breaks off ({error}); nothing was written") from None
        listed += found
        unclear += several
    return listed, unclear


@contextmanager
def _opened(url: str) -> Iterator[Iterable[str]]:
    """The lines of a file on the web; a server's own error is asked about again."""
    if not url.startswith(("https://", "http://")):
        raise RefreshError(f"{plain(url)}: is no address; write it with https://")
    for attempt in range(ATTEMPTS):
        try:
            answer = urllib.request.urlopen(url, timeout=TIMEOUT_S)  # noqa: S310  checked above
            break
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < SERVER_ERRORS or attempt == ATTEMPTS - 1:
                raise RefreshError(f"{url}: answers {error.code}; nothing was written") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise RefreshError(
                f"{url}: cannot be reached ({reason}); run it where the network is open"
            ) from None
    with answer, io.TextIOWrapper(answer, encoding="utf-8", newline="") as lines:
        yield lines


def _replace(path: Path, text: str) -> None:
    """Write beside and rename, so that a file is always whole."""
    beside = path.with_suffix(".new")
    beside.write_text(text, "utf-8")
    beside.replace(path)


def _refuse(line: str) -> int:
    print(f"berth catalog refresh-prices: {line}", file=sys.stderr)
    return 2
