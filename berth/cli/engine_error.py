"""What the Pulumi CLI says when it fails without an event, for a person."""

import re

from pulumi.automation.errors import CommandError


def engine_lines(error: CommandError) -> list[str]:
    """What the CLI itself said, when no event did."""
    if "PULUMI_ACCESS_TOKEN must be set" in str(error):
        return ["pulumi: not logged in to a backend; run `pulumi login`, or add --offline"]
    said = re.findall(r"error: (.+)", str(error))
    return [f"pulumi: {line.strip()}" for line in said] or [
        "pulumi: ended without saying why; run `pulumi preview` by hand to see its output"
    ]
