"""Write docs/accuracy.md and docs/speed-accuracy.md: plans beside published logs and runs."""

import csv
from pathlib import Path

from berth.catalog.gpu import load_gpus
from berth.catalog.model import find_model, load_models
from berth.planner.accuracy import compare, read_start_log, report
from tests.accuracy.later_page import later_comparisons, later_section
from tests.accuracy.speed_page import write_page

ROOT = Path(__file__).parents[2]
TIERS = (
    "T4",
    "L4",
    "A10G",
    "L40S",
    "A100-SXM-40GB",
    "A100-SXM-80GB",
    "H100-SXM-80GB",
    "H200-SXM-141GB",
    "B200-SXM-180GB",
    "MI300X",
)


def main() -> None:
    """Read the logs, compare, write the page."""
    gpus, models = load_gpus(), load_models()
    with (ROOT / "tests/data/start_logs.csv").open(encoding="utf-8") as file:
        logs = [read_start_log(row) for row in csv.DictReader(file)]
    comparisons = [
        compare(log, gpus[log.gpu], models[find_model(models, log.model)]) for log in logs
    ]
    page = ROOT / "docs/accuracy.md"
    later = later_comparisons(gpus, models)
    text = f"{report(comparisons, TIERS)}\n{later_section(later)}"
    page.write_text(text, encoding="utf-8")
    print(f"{page.relative_to(ROOT)}: {len(comparisons)} logs, {len(later)} found later")
    print(f"docs/speed-accuracy.md: {write_page()} runs")


if __name__ == "__main__":
    main()
