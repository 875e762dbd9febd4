"""A copy of a project's settings that a run may write to."""

from pathlib import Path

import yaml

from berth.offline.workspace import copy_workspace


def test_the_copy_runs_the_program_where_it_is(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "stacks").mkdir(parents=True)
    stack_file = project / "stacks" / "Pulumi.dev.yaml"
    stack_file.write_text("config: {}\n", encoding="utf-8")
    settings = (
        "name: p\nstackConfigDir: stacks\n"
        "runtime: {name: python, options: {virtualenv: .venv, toolchain: pip}}\n"
    )
    (project / "Pulumi.yaml").write_text(settings, encoding="utf-8")

    copy_workspace(project, stack_file, tmp_path / "work")

    copied = yaml.safe_load((tmp_path / "work" / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert copied == {
        "name": "p",
        "main": str(project),
        "runtime": {
            "name": "python",
            "options": {"virtualenv": str(project / ".venv"), "toolchain": "pip"},
        },
    }
    assert (tmp_path / "work" / "Pulumi.dev.yaml").read_text(encoding="utf-8") == "config: {}\n"
    assert (project / "Pulumi.yaml").read_text(encoding="utf-8") == settings
