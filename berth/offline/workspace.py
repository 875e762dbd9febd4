"""A copy of a Pulumi project's settings in which a run may write; the program stays where it is."""

import shutil
from pathlib import Path

import yaml


def copy_workspace(project_dir: Path, stack_file: Path, work_dir: Path) -> None:
    """Write Pulumi.yaml and one stack file to `work_dir`, pointing back to the program.

    Making a stack writes a salt into its file; in a copy that changes nothing the author keeps.

    Args:
        project_dir: folder of the author's Pulumi.yaml.
        stack_file: the author's Pulumi.<stack>.yaml.
        work_dir: made if missing.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    project = yaml.safe_load((project_dir / "Pulumi.yaml").read_text(encoding="utf-8"))
    project["main"] = str(project_dir / project.get("main", "."))
    project.pop("stackConfigDir", None)
    runtime = project["runtime"]
    options = runtime.get("options", {}) if isinstance(runtime, dict) else {}
    if "virtualenv" in options:
        options["virtualenv"] = str(project_dir / options["virtualenv"])
    (work_dir / "Pulumi.yaml").write_text(yaml.safe_dump(project), encoding="utf-8")
    shutil.copyfile(stack_file, work_dir / stack_file.name)
