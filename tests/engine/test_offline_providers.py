"""The stand-in providers under the real engine, by small programs."""

import json
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from berth.offline.cloud import Cloud
from berth.offline.providers import OfflineProviders
from tests.engine.conftest import MakeProject, Project

pytestmark = pytest.mark.engine

HEAD = """
import json, pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})
"""
ROLE = 'aws.iam.Role("r", name="berth-role", assume_role_policy=TRUST)\n'
NODE_GROUP = """
group = aws.eks.NodeGroup(
    "ng", cluster_name="c", node_role_arn="arn:aws:iam::123456789012:role/r",
    subnet_ids=["subnet-1"], instance_types=["g6.xlarge"],
    scaling_config={"min_size": 1, "desired_size": 1, "max_size": 2},
)
"""
CONFIG = """
config:
  aws:region: us-east-1
  aws:defaultTags:
    tags: {owner: platform, stage: test}
"""


@dataclass(frozen=True)
class Offline:
    """One project whose engine has the stand-in providers attached."""

    project: Project
    cloud: Cloud

    def program(self, text: str) -> None:
        """Write the program anew."""
        path = self.project.folder / "__main__.py"
        path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")

    def run(self, *arguments: str, fails: bool = False) -> str:
        """Run the CLI; what it printed."""
        code, output = self.project.pulumi(*arguments, "--stack", "dev")
        assert (code != 0) == fails, output
        return output

    def up(self, text: str, *, fails: bool = False) -> str:
        self.program(text)
        return self.run("up", "--yes", "--skip-preview", "--diff", fails=fails)

    def preview(self, text: str, *arguments: str, fails: bool = False) -> str:
        self.program(text)
        return self.run("preview", "--diff", *arguments, fails=fails)

    def steps(self, text: str) -> list[dict[str, Any]]:
        """The steps that a preview would take, as the CLI's JSON has them."""
        self.program(text)
        steps: list[dict[str, Any]] = json.loads(self.run("preview", "--json"))["steps"]
        return steps

    def outputs(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("stack", "output", "--json"))
        return found

    def state(self) -> str:
        return self.run("stack", "export")


@pytest.fixture
def offline(make_project: MakeProject, tmp_path: Path) -> Iterator[Offline]:
    settings = f"name: p\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
    project = make_project({"Pulumi.yaml": settings})
    stack_file = project.folder / "Pulumi.dev.yaml"
    stack_file.write_text(stack_file.read_text(encoding="utf-8") + CONFIG, encoding="utf-8")
    with OfflineProviders(tmp_path / "cloud") as providers:
        environment = {
            **project.environment,
            "PULUMI_DEBUG_PROVIDERS": providers.debug_providers,
        }
        yield Offline(replace(project, environment=environment), providers.cloud)


def op_of(steps: list[dict[str, Any]], name: str) -> list[str]:
    return [step["op"] for step in steps if step["urn"].endswith(f"::{name}")]


def test_a_stack_from_first_preview_to_destroy(offline: Offline) -> None:
    program = NODE_GROUP + 'bucket = aws.s3.Bucket("b", force_destroy=FORCE)\n'
    first = program.replace("FORCE", "False")

    planned = offline.steps(first)
    offline.up(first)
    offline.preview(first, "--expect-no-changes")
    changed = offline.steps(program.replace("FORCE", "True"))
    offline.up(program.replace("FORCE", "True"))
    offline.preview(program.replace("FORCE", "True"), "--expect-no-changes")
    offline.run("destroy", "--yes", "--skip-preview")

    assert {step["op"] for step in planned} == {"create"}
    assert op_of(changed, "b") == ["update"]
    assert op_of(changed, "ng") == []
    assert offline.cloud.records() == []


CHAIN = """
vpc = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16")
subnet = aws.ec2.Subnet("s", vpc_id=vpc.id, cidr_block="10.0.0.0/24")
cluster = aws.eks.Cluster("c", role_arn="arn:aws:iam::123456789012:role/r",
                          vpc_config={"subnet_ids": [subnet.id]})
template = aws.ec2.LaunchTemplate("t", image_id="ami-1")
group = aws.eks.NodeGroup("ng", cluster_name=cluster.name, subnet_ids=[subnet.id],
    node_role_arn="arn:aws:iam::123456789012:role/r",
    launch_template={"id": template.id, "version": template.latest_version.apply(str)},
    scaling_config={"min_size": 0, "desired_size": 0, "max_size": 1})
tag = aws.autoscaling.Tag("tag", tag={"key": "k", "value": "v", "propagate_at_launch": True},
    autoscaling_group_name=group.resources[0].autoscaling_groups[0].name)
kubeconfig = pulumi.Output.all(cluster.endpoint, cluster.certificate_authority.data).apply(
    lambda parts: json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "users": [{"name": "x", "user": {}}], "clusters": [{"name": "x", "cluster":
            {"server": parts[0], "certificate-authority-data": parts[1]}}]}))
provider = k8s.Provider("k", kubeconfig=kubeconfig)
service = k8s.core.v1.Service("web", spec={"ports": [{"port": 80}], "selector": {"a": "b"}},
    opts=pulumi.ResourceOptions(provider=provider))
pulumi.export("subnet", subnet.id)
pulumi.export("subnet_arn", subnet.arn)
pulumi.export("endpoint", cluster.endpoint)
pulumi.export("certificate", cluster.certificate_authority.data)
pulumi.export("group", group.id)
pulumi.export("scaling_group", group.resources[0].autoscaling_groups[0].name)
pulumi.export("template_version", template.latest_version)
pulumi.export("address", service.spec.cluster_ip)
"""


def test_what_the_cloud_assigns_is_unknown_and_flows_on(offline: Offline) -> None:
    steps = {step["urn"].rpartition("::")[2]: step["newState"] for step in offline.steps(CHAIN)}

    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    assert steps["s"]["inputs"]["vpcId"] == unknown
    assert steps["c"]["inputs"]["vpcConfig"]["subnetIds"] == [unknown]
    assert steps["ng"]["inputs"]["launchTemplate"] == {"id": unknown, "version": unknown}
    assert steps["tag"]["inputs"]["autoscalingGroupName"] == unknown
    assert steps["k"]["inputs"]["kubeconfig"] == unknown
    assert re.fullmatch(r"c-[0-9a-f]{7}", steps["ng"]["inputs"]["clusterName"])


def test_what_the_cloud_assigned_has_its_form_and_stays(offline: Offline) -> None:
    offline.up(CHAIN)
    first = offline.outputs()
    offline.run("destroy", "--yes", "--skip-preview")
    offline.up(CHAIN)
    second = offline.outputs()

    subnet = first["subnet"]
    assert re.fullmatch(r"subnet-[0-9a-f]{17}", subnet)
    assert first["subnet_arn"] == f"arn:aws:ec2:us-east-1:123456789012:subnet/{subnet}"
    assert re.fullmatch(
        r"https://[0-9A-F]{32}\.gr7\.us-east-1\.eks\.amazonaws\.com", first["endpoint"]
    )
    assert re.fullmatch(r"c-[0-9a-f]{7}:ng-[0-9a-f]{7}", first["group"])
    assert re.match(r"eks-ng-[0-9a-f]{7}-[0-9a-f]{8}-", first["scaling_group"])
    assert first["template_version"] == 1
    assert first["address"].startswith("172.20.")
    assert second == first


def test_a_change_in_place_and_one_that_replaces(offline: Offline) -> None:
    offline.up(NODE_GROUP)
    larger = offline.steps(NODE_GROUP.replace('"max_size": 2', '"max_size": 3'))
    other_type = offline.steps(NODE_GROUP.replace("g6.xlarge", "g6.2xlarge"))
    offline.up(NODE_GROUP.replace("g6.xlarge", "g6.2xlarge"))

    assert op_of(larger, "ng") == ["update"]
    assert op_of(other_type, "ng") == ["replace"]
    assert [r.properties["instanceTypes"] for r in offline.cloud.records()] == [["g6.2xlarge"]]


def test_an_unknown_property_is_refused_with_the_nearest_known(offline: Offline) -> None:
    output = offline.preview(
        """
        class Loose(pulumi.CustomResource):
            def __init__(self, name, props):
                super().__init__("aws:eks/nodeGroup:NodeGroup", name, props)

        Loose("ng", {"clusterName": "c", "nodeRoleArn": "a", "subnetIds": ["s"],
            "instanceTypess": ["g6.xlarge"], "amiType": "AL2023_x86_64_NVIDEA",
            "scalingConfig": {"minSize": 1, "maxSize": 1, "desiredSise": 1}})
        """,
        fails=True,
    )

    where = "aws:eks/nodeGroup:NodeGroup ng: "
    assert f"{where}unknown property instanceTypess; did you mean instanceTypes" in output
    assert f"{where}unknown property scalingConfig.desiredSise; did you mean desiredSize" in output
    assert f"{where}amiType is AL2023_x86_64_NVIDEA, which is not one of" in output


SECRETS = """
secret = pulumi.Output.secret("s3cr3t-never-shown")
parameter = aws.ssm.Parameter("p", name="/p", type="SecureString", value=secret)
version = aws.secretsmanager.SecretVersion("v", secret_id="arn", secret_string=secret)
opts = pulumi.ResourceOptions(provider=k8s.Provider("k", context="one"))
held = k8s.core.v1.Secret("s", metadata={"name": "s"}, string_data={"token": secret}, opts=opts)
plain = k8s.core.v1.Secret("t", metadata={"name": "t"},
                           string_data={"token": "s3cr3t-never-shown"}, opts=opts)
group = k8s.core.v1.ConfigMap("m", metadata={"name": "m", "labels": {"l": secret}}, opts=opts)
pulumi.export("parameter", parameter.value)
pulumi.export("data", plain.data)
pulumi.export("number", {number})
"""


def test_a_secret_is_in_no_output_and_in_no_file(offline: Offline, tmp_path: Path) -> None:
    texts = ["s3cr3t-never-shown", "czNjcjN0LW5ldmVyLXNob3du"]  # base64 of the first

    said = [
        offline.preview(SECRETS.replace("{number}", "1")),
        offline.up(SECRETS.replace("{number}", "1")),
        offline.run("refresh", "--yes", "--skip-preview", "--diff"),
        offline.up(SECRETS.replace("{number}", "2")),
        offline.state(),
        offline.run("stack", "output"),
    ]

    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != "__main__.py"]
    kept = [path.read_bytes() for path in files if path.suffix != ".pyc"]
    assert not [text for text in texts for output in said if text in output]
    assert not [text for text in texts for content in kept if text.encode() in content]
    assert json.loads(offline.run("stack", "output", "--json", "--show-secrets"))["parameter"] == (
        "s3cr3t-never-shown"
    )


def test_default_tags_and_regions_are_known_in_a_preview(offline: Offline) -> None:
    program = """
    def shown(name, vpc):
        aws.ec2.InternetGateway(name, tags=vpc.tags_all.apply(
            lambda tags: {f"seen-{key}": value for key, value in tags.items()}))
        aws.ec2.InternetGateway(f"{name}-region", tags={"region": vpc.region})

    west = aws.Provider("west", region="us-west-2", default_tags={"tags": {"only": "west"}})
    far = pulumi.ResourceOptions(provider=west)
    shown("v", aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", tags={"stage": "own"}))
    shown("w", aws.ec2.Vpc("there", cidr_block="10.0.0.0/16", region="eu-west-1"))
    shown("x", aws.ec2.Vpc("far", cidr_block="10.0.0.0/16", opts=far))
    """
    steps = offline.steps(program)
    tags = {
        s["urn"].rpartition("::")[2]: s["newState"].get("inputs", {}).get("tags") for s in steps
    }

    assert tags["v"] == {"seen-owner": "platform", "seen-stage": "own"}
    assert tags["v-region"] == {"region": "us-east-1"}
    assert tags["w-region"] == {"region": "eu-west-1"}
    assert tags["x"] == {"seen-only": "west"}
    assert tags["x-region"] == {"region": "us-west-2"}


def test_a_change_from_outside_is_seen_and_put_right(offline: Offline) -> None:
    program = NODE_GROUP + 'aws.s3.Bucket("b", bucket="berth-b", tags={"a": "b"})\n'
    offline.up(program)
    offline.cloud.change("c:" + _name_of(offline, "ng"), "scalingConfig.maxSize", 9)
    offline.cloud.change("berth-b", "tags.by-hand", "yes")

    seen = offline.run("refresh", "--yes", "--skip-preview", "--diff")
    mended = offline.steps(program)
    offline.up(program)
    offline.cloud.remove("berth-b")
    offline.run("refresh", "--yes", "--skip-preview")
    again = offline.steps(program)

    assert re.search(r"maxSize *: 2 => 9", seen)
    assert "by-hand" in seen
    assert op_of(mended, "ng") == ["update"]
    assert op_of(mended, "b") == ["update"]
    assert op_of(again, "b") == ["create"]


def _name_of(offline: Offline, logical: str) -> str:
    (record,) = (r for r in offline.cloud.records() if r.urn.endswith(f"::{logical}"))
    return str(record.properties["nodeGroupName"])


def test_what_exists_can_be_read_and_imported(offline: Offline) -> None:
    offline.up(
        'pulumi.export("x", 1)\n'
        + ROLE.replace('"r"', '"r", opts=KEEP').replace(
            "aws.iam", "KEEP = pulumi.ResourceOptions(retain_on_delete=True)\naws.iam", 1
        )
    )
    offline.up('pulumi.export("x", 2)\n')

    offline.up('found = aws.iam.Role.get("g", "berth-role")\npulumi.export("arn", found.arn)\n')
    arn = offline.outputs()["arn"]
    imported = offline.up(
        ROLE.replace("TRUST)", 'TRUST, opts=pulumi.ResourceOptions(import_="berth-role"))')
    )
    unchanged = offline.preview(ROLE, "--expect-no-changes")
    missing = offline.preview('aws.iam.Role.get("g", "no-role")\n', fails=True)

    assert arn == "arn:aws:iam::123456789012:role/berth-role"
    assert "1 imported" in imported
    assert "2 unchanged" in unchanged
    assert "no-role" in missing


def test_the_import_command_takes_over_what_exists(offline: Offline) -> None:
    keep = ", opts=pulumi.ResourceOptions(retain_on_delete=True))"
    offline.up(ROLE.replace("TRUST)", f"TRUST{keep}"))
    offline.up("")

    said = offline.run(
        "import",
        "aws:iam/role:Role",
        "r",
        "berth-role",
        "--yes",
        "--skip-preview",
        "--generate-code=false",
    )

    assert "1 imported" in said


def test_a_name_used_twice_fails_as_in_the_cloud(offline: Offline) -> None:
    twice = ROLE + ROLE.replace('"r"', '"again"')
    objects = """
    opts = pulumi.ResourceOptions(provider=k8s.Provider("k", context="one"))
    meta = {"name": "x"}
    spec = {"selector": {"match_labels": {"a": "b"}}, "template": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}
    k8s.apps.v1.Deployment("one", metadata=meta, spec=spec, opts=opts)
    k8s.apps.v1.Deployment("two", metadata=meta, spec=spec, opts=opts)
    """

    roles = offline.up(twice, fails=True)
    deployments = offline.up(objects, fails=True)

    assert "EntityAlreadyExists: Role with name berth-role already exists" in roles
    assert 'AlreadyExists: deployments.apps "x" already exists' in deployments


def test_look_ups_answer_or_say_where_to_add_one(offline: Offline) -> None:
    offline.up(
        """
        zones = aws.get_availability_zones(state="available")
        image = aws.ssm.get_parameter(name="/aws/service/eks/optimized-ami/1.35/"
            "amazon-linux-2023/x86_64/nvidia/recommended/image_id")
        pulumi.export("zones", zones.names)
        pulumi.export("account", aws.get_caller_identity().account_id)
        pulumi.export("region", aws.get_region().region)
        pulumi.export("partition", aws.get_partition().partition)
        pulumi.export("image", image.value)
        """
    )
    found = offline.outputs()
    unknown = offline.preview('aws.ec2.get_ami(owners=["self"])\n', fails=True)

    assert found["zones"][:2] == ["us-east-1a", "us-east-1b"]
    assert (found["account"], found["partition"]) == ("123456789012", "aws")
    assert found["region"] == "us-east-1"
    assert re.fullmatch(r"ami-0[0-9a-f]{16}", found["image"])
    assert "aws:ec2/getAmi:getAmi: no answer offline" in unknown
    assert "berth/offline/aws/answers.py" in unknown


def test_a_chart_as_a_component_needs_the_real_provider(offline: Offline) -> None:
    output = offline.preview(
        """
        k8s.helm.v4.Chart("c", chart="gpu-operator",
            opts=pulumi.ResourceOptions(provider=k8s.Provider("k", context="one")))
        """,
        fails=True,
    )

    assert (
        "kubernetes:helm.sh/v4:Chart resource 'c' has a problem: a component is rendered" in output
    )


def run_by_hand(
    folder: Path, environment: dict[str, str], *arguments: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "berth.offline", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def checkout(tmp_path: Path, engine_env: dict[str, str]) -> tuple[Path, dict[str, str]]:
    """A project under version control, as a person would have it."""
    folder = tmp_path / "checkout"
    (folder / "stacks").mkdir(parents=True)
    (folder / ".gitignore").write_text(".berth/\n__pycache__/\n", encoding="utf-8")
    (folder / "__main__.py").write_text(HEAD + ROLE, encoding="utf-8")
    (folder / "Pulumi.yaml").write_text(
        f"name: p\nruntime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}\n"
        "stackConfigDir: stacks\n",
        encoding="utf-8",
    )
    stack_file = folder / "stacks" / "Pulumi.dev.yaml"
    stack_file.write_text("# kept\nconfig:\n  aws:region: us-east-1\n", encoding="utf-8")
    root = str(Path(__file__).resolve().parents[2])
    environment = {
        **{name: value for name, value in engine_env.items() if not name.startswith("PULUMI_")},
        "PYTHONPATH": root,
    }
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    return folder, environment


def test_a_run_by_hand_changes_no_tracked_file(checkout: tuple[Path, dict[str, str]]) -> None:
    folder, environment = checkout
    commands = [
        ["stack", "init", "dev"],
        ["up", "--yes", "--stack", "dev"],
        ["preview", "--expect-no-changes", "--stack", "dev"],
    ]

    results = []
    for command in commands:
        process = run_by_hand(folder, environment, "--", "pulumi", *command, "--non-interactive")
        output, _ = process.communicate(timeout=120)
        results.append((process.returncode, output))

    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert [code for code, _ in results] == [0, 0, 0], results
    assert status.stdout == ""
    assert (folder / ".berth" / "offline" / "backend").is_dir()


def test_the_exit_code_is_the_commands(checkout: tuple[Path, dict[str, str]]) -> None:
    folder, environment = checkout
    script = "import os, sys; sys.exit(7 if 'aws:' in os.environ['PULUMI_DEBUG_PROVIDERS'] else 1)"

    process = run_by_hand(folder, environment, "--", sys.executable, "-c", script)
    process.communicate(timeout=60)

    assert process.returncode == 7


def test_ctrl_c_leaves_nothing_running(checkout: tuple[Path, dict[str, str]]) -> None:
    folder, environment = checkout
    waiting = "print('started', flush=True)\nimport time\ntime.sleep(600)\n"
    (folder / "__main__.py").write_text(waiting, encoding="utf-8")
    init = run_by_hand(folder, environment, "--", "pulumi", "stack", "init", "dev")
    init.communicate(timeout=60)
    process = run_by_hand(
        folder, environment, "--", "pulumi", "preview", "--non-interactive", "--stack", "dev"
    )
    assert process.stdout is not None
    seen = next((line for line in process.stdout if "started" in line), "")

    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    assert "started" in seen
    assert process.returncode != 0
    assert "Traceback" not in output
    assert _running_in(folder) == []


def _running_in(folder: Path) -> list[str]:
    """Commands of processes that have their working folder in the project."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append((entry / "cmdline").read_text(encoding="utf-8"))
        except OSError:
            continue
    return found
