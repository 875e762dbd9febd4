"""The pack as `pulumi policy publish` packs it: sent to a pretended service, unpacked, and run."""

import io
import json
import sys
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.cli.policy_folder import write_pack
from berth.costs.guardrails import BUDGET_EXCEEDED
from berth.engine.tools import Program
from berth.offline.providers import OfflineProviders
from berth.rules.exceptions import EXCEPTIONS_POLICY
from berth.rules.registry import RULES
from tests.engine.conftest import MakeProject, Project
from tests.engine.packaged import build_wheel, make_environment

pytestmark = pytest.mark.engine

PROGRAM = """
import pulumi_kubernetes as k8s

k8s.core.v1.Pod(
    "chat",
    metadata={"name": "chat"},
    spec={"containers": [{"name": "server", "image": "vllm/vllm-openai:v0.32.0"}]},
)
"""


@dataclass
class Service:
    """What a pretended Pulumi Cloud was sent."""

    address: str = ""
    announced: dict[str, Any] = field(default_factory=dict)
    archive: bytes = b""
    completed: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, body: bytes) -> Any:
        """The answer to one request, as far as publishing a pack asks."""
        if path == "/api/user":
            return {"githubLogin": "team", "organizations": [{"githubLogin": "team"}]}
        if (method, path) == ("POST", "/api/orgs/team/policypacks"):
            self.announced = json.loads(body)
            return {"version": 1, "uploadURI": f"{self.address}/upload"}
        if (method, path) == ("PUT", "/upload"):
            self.archive = body
        if path.endswith("/complete"):
            self.completed.append(path)
        return {}


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = found.answer(self.command, self.path.partition("?")[0], body)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = do_PUT = _serve  # noqa: N815  # the base class looks for these names

        def log_message(self, *args: Any) -> None:
            """Nothing: the output of a test is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_published_pack_holds_four_files_and_runs_from_them(
    service: Service,
    pulumi_cli: Program,
    engine_env: dict[str, str],
    make_project: MakeProject,
    tmp_path: Path,
) -> None:
    pack = tmp_path / "gpu-policies"
    assert write_pack(pack, None, as_json=False) == 0
    wheel = build_wheel(tmp_path)
    make_environment(pack / "venv", wheel)
    (pack / "__pycache__").mkdir()
    (pack / "__pycache__" / "left.pyc").write_bytes(b"0")
    signed_in = {
        **{k: v for k, v in engine_env.items() if k != "PYTHONPATH"},
        "PULUMI_BACKEND_URL": service.address,
        "PULUMI_ACCESS_TOKEN": "pul-only-for-tests",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }

    code, output = Project(pack, signed_in, pulumi_cli.path).pulumi("policy", "publish", "team")

    assert code == 0, output
    assert service.completed == ["/api/orgs/team/policypacks/berth/versions/0.1.0/complete"]
    levels = {rule.id: rule.level for rule in RULES}
    announced = {each["name"]: each for each in service.announced["policies"]}
    assert set(announced) == {*levels, BUDGET_EXCEEDED, EXCEPTIONS_POLICY}
    assert {name: announced[name]["enforcementLevel"] for name in levels} == levels
    assert "instanceType" in announced["startup-oom"]["configSchema"]["properties"]

    unpacked = tmp_path / "installed"
    with tarfile.open(fileobj=io.BytesIO(service.archive), mode="r:gz") as archive:
        files = {name for name in archive.getnames() if not name.endswith("/")}
        archive.extractall(unpacked, filter="data")
    assert {name.removeprefix("package/") for name in files if "." in name} == {
        ".gitignore",
        "PulumiPolicy.yaml",
        "__main__.py",
        "requirements.txt",
    }
    installed = unpacked / "package"
    settings = yaml.safe_load((installed / "PulumiPolicy.yaml").read_text("utf-8"))
    environment = installed / settings["runtime"]["options"]["virtualenv"]
    assert environment.parent == installed
    make_environment(environment, wheel)
    text = f"name: team\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
    project = make_project({"Pulumi.yaml": text, "__main__.py": PROGRAM})
    with OfflineProviders(tmp_path / "cloud") as running:
        attached = {
            **{k: v for k, v in project.environment.items() if k != "PYTHONPATH"},
            "PULUMI_DEBUG_PROVIDERS": running.debug_providers,
            "PULUMI_DEBUG_COMMANDS": "true",
        }
        code, output = replace(project, environment=attached).pulumi(
            "preview", "--policy-pack", str(installed)
        )
    assert code != 0
    assert "gpu-request-missing" in output, output
