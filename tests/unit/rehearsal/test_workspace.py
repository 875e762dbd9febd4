"""What surrounds the programs of a rehearsal."""

from pathlib import Path

from berth.rehearsal.workspace import private_environment


def test_every_file_of_the_programs_stays_in_the_folder_of_the_rehearsal(tmp_path: Path) -> None:
    """The Kubernetes plugin leaves copies of the kubeconfig in the temporary folder."""
    environment = private_environment(tmp_path, tmp_path / "kubeconfig")

    places = {name: Path(environment[name]) for name in environment if name != "PATH"}
    assert {"TMPDIR", "KUBECONFIG", "HELM_CACHE_HOME"} <= set(places)
    assert all(place.is_relative_to(tmp_path) for place in places.values())
    assert places["TMPDIR"].is_dir()
