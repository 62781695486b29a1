"""The files in `deploy/`: what they start is there, and they say what the documentation says.

Nothing is run in a container here: the files are read, and their command lines are parsed by the
command itself.
"""

import json
import re
import shlex
from configparser import RawConfigParser
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import typer
import yaml

from manners import Settings
from manners.cli.app import build
from manners.settings import load
from manners.settings.fields import Fields
from manners.settings.names import NOT_SETTINGS, PREFIX

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
PROGRAM = "/opt/manners/bin/manners"
"""Where the image, and the unit, have the command."""
CLUSTER = "1.34"
"""The version of Kubernetes whose schemas are asked."""
HARDENED = {
    *("DynamicUser", "CapabilityBoundingSet", "LockPersonality", "NoNewPrivileges"),
    *("PrivateDevices", "PrivateTmp", "ProtectControlGroups", "ProtectHome"),
    *("ProtectKernelModules", "ProtectKernelTunables", "ProtectSystem"),
    *("RestrictAddressFamilies", "MemoryMax"),
}
SYSTEMD = {
    "Unit": {"Description", "Documentation", "Wants", "After"},
    "Service": {
        *("Type", "EnvironmentFile", "ExecStart", "Restart", "RestartSec", "SuccessExitStatus"),
        *("KillMode", "TimeoutStopSec", "StateDirectory"),
        *HARDENED,
    },
    "Timer": {"OnCalendar", "RandomizedDelaySec", "Persistent"},
    "Install": {"WantedBy"},
}
"""Keys of systemd.unit(5), .service(5), .timer(5), .exec(5) and .resource-control(5)."""
UNITS = sorted(path.name for path in DEPLOY.glob("manners-*.*"))


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    return found


def manifests() -> list[dict[str, Any]]:
    """What is applied to Kubernetes."""
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))


def jobs() -> dict[str, dict[str, Any]]:
    """The jobs of Kubernetes, by name."""
    return {row["metadata"]["name"]: row["spec"] for row in manifests() if row["kind"] == "Job"}


def pods() -> dict[str, dict[str, Any]]:
    """What runs in Kubernetes, by the name of what starts it."""
    found = {}
    for row in manifests():
        spec = row["spec"].get("jobTemplate", row)["spec"]
        if "template" in spec:
            found[row["metadata"]["name"]] = spec["template"]["spec"]
    return found


def container(job: str) -> dict[str, Any]:
    (found,) = jobs()[job]["template"]["spec"]["containers"]
    return dict(found)


class Repeated(dict[str, Any]):
    """A section of a unit: a key that comes again adds a line."""

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(value, list) and key in self:
            value = [*self[key], *value]
        super().__setitem__(key, value)


def unit(name: str = "manners-worker@.service") -> RawConfigParser:
    parser = RawConfigParser(
        delimiters=("=",), comment_prefixes=("#",), strict=False, dict_type=Repeated
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys as they are written
    parser.read_string((DEPLOY / name).read_text("utf-8"))
    return parser


def image() -> dict[str, list[str]]:
    """What the image runs, by instruction: the last one of each counts."""
    found = re.findall(
        r"^(ENTRYPOINT|CMD) (\[.+\])$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE
    )
    return {name: yaml.safe_load(words) for name, words in found}


def inner(words: list[str]) -> list[str]:
    """The command line in a script for a shell, with a date where it asks for one."""
    script = re.sub(r'"\$\(date .*\)"', "2026-01-01", words[-1].replace("%%", "%"))
    program, *rest = shlex.split(script.removeprefix("exec "))
    assert program == PROGRAM, script
    return rest


def command_lines() -> dict[str, list[str]]:
    """Every command line of the package that the files have, without its first word."""
    services = compose()["services"]
    start = services["start"]
    found = {
        "Dockerfile": image()["CMD"],
        "compose start": [*start["entrypoint"][1:], *start["command"]],
        "compose worker": services["worker"]["command"],
        "compose serve": services["serve"]["command"],
    }
    for name, pod in pods().items():
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            words = container["args"]
            if "command" in container:
                assert container["command"] == ["/bin/sh", "-c"]
                words = inner(words)
            found[f"kubernetes {name} {container['name']}"] = words
    for name in UNITS:
        if name.endswith(".service"):
            starts = unit(name)["Service"]["ExecStart"].splitlines()
            for number, line in enumerate(starts):
                program, *words = shlex.split(line)
                if program == "/bin/sh":
                    words = inner(words)
                else:
                    assert program == PROGRAM
                found[f"systemd {name} {number}"] = words
    return found


def leaf(words: list[str]) -> tuple[Any, list[str]]:
    """The subcommand that a command line names, and the words behind it."""
    command: Any = typer.main.get_command(build())
    while getattr(command, "commands", None):
        assert words[0] in command.commands, f"no {words[0]!r} in {command.name}"
        name, *words = words
        command = command.commands[name]
    return command, words


@pytest.mark.parametrize("place", command_lines())
def test_a_command_line_is_one_of_ours(place: str) -> None:
    """The command has the subcommand, its options and its arguments; nothing is run."""
    command, words = leaf(command_lines()[place])
    assert command.name in ("start", "work", "serve", "head", "prune")
    context = command.make_context(command.name, list(words))  # raises what is wrong
    assert context.args == []


def test_the_compose_file_is_one_by_its_schema() -> None:
    """By the schema of the Compose Specification."""
    schemas = resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text("utf-8"))
    jsonschema.validate(compose(), schema)


def test_the_manifests_are_some_by_their_schemas() -> None:
    """By those of Kubernetes, where an unknown member is an error."""
    kinds = []
    for row in manifests():
        kubernetes_validate.validate(row, CLUSTER, strict=True)
        kinds.append(row["kind"])
    assert kinds == ["Job", "Job", "Deployment", "Service", "CronJob"]


def variables() -> dict[str, set[str]]:
    """Variables that the files set for us, by place."""
    found = {
        f"compose {name}": set(service.get("environment", ()))
        for name, service in compose()["services"].items()
        if service["image"] == "manners"
    }
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    found["Dockerfile"] = set(re.findall(r"\b([A-Z_]+)=", text))
    for name, pod in pods().items():
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            found[f"kubernetes {name}"] = {row["name"] for row in container["env"]}
    for name in UNITS:
        found[name] = set(re.findall(r"\b(MANNERS_[A-Z_]+)=", (DEPLOY / name).read_text("utf-8")))
    return found


def test_every_variable_is_a_setting() -> None:
    """Or one of the few secrets that are none."""
    names = {name for place in variables().values() for name in place if name.startswith(PREFIX)}
    assert {"MANNERS_STORE", "MANNERS_SERVE_TOKEN", "MANNERS_METRICS_PORT"} <= names
    fields = {f"{PREFIX}{name.upper()}" for name in Fields.__annotations__}
    assert names - {*NOT_SETTINGS} <= fields
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    (port,) = re.findall(r"MANNERS_METRICS_PORT=(\S+)", text)
    settings, _ = load(environment={"MANNERS_METRICS_PORT": port})
    assert settings.metrics_port == "0.0.0.0:9464"


def test_metrics_and_health_are_asked_for_where_they_are() -> None:
    """The port of the image is that of the probes and of Prometheus; that of the service, too."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    assert "127.0.0.1:9464/metrics" in re.sub(r"\\\n", "", text).partition("HEALTHCHECK")[2]
    worker = container("manners-worker")
    assert worker["livenessProbe"]["httpGet"] == {"path": "/metrics", "port": 9464}
    jobs_of = yaml.safe_load((DEPLOY / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    workers, serve = jobs_of
    assert workers["dns_sd_configs"][0]["port"] == 9464
    assert workers["dns_sd_configs"][0]["names"] == ["worker"]
    assert serve["static_configs"] == [{"targets": ["serve:9309"]}]
    assert "--name=serve" in compose()["services"]["serve"]["command"]  # or it is not answered
    secret = serve["authorization"]["credentials_file"].rpartition("/")[2]
    assert secret in compose()["services"]["prometheus"]["secrets"]
    assert compose()["secrets"][secret] == {"environment": "MANNERS_SERVE_TOKEN"}


def test_the_program_is_where_the_files_say() -> None:
    """The image and the unit have the command in the same place."""
    starts = [image()["ENTRYPOINT"][0], compose()["services"]["start"]["entrypoint"][0]]
    assert starts == [PROGRAM] * 2
    assert "/opt/manners/bin/pip install" in (DEPLOY / "Dockerfile").read_text()


def test_a_worker_has_the_time_that_it_needs_to_finish() -> None:
    """A running request, and a slow database: both have a timeout."""
    needed = Settings().page_total_timeout + Settings().server_timeout
    pod = jobs()["manners-worker"]["template"]["spec"]
    assert compose()["services"]["worker"]["stop_grace_period"] == "2m"
    for name in ("manners-worker@.service", "manners-serve.service"):
        assert int(unit(name)["Service"]["TimeoutStopSec"]) == 120
    assert pod["terminationGracePeriodSeconds"] == 120
    assert needed <= 120


def test_a_worker_is_started_again_unless_the_crawl_has_ended() -> None:
    """Exit code 0 is the end of the crawl, wherever it runs."""
    assert compose()["services"]["worker"]["restart"] == "on-failure"
    assert unit()["Service"]["Restart"] == "on-failure"
    job = jobs()["manners-worker"]
    assert job["template"]["spec"]["restartPolicy"] in ("OnFailure", "Never")
    assert "completions" not in job  # so that one that has ended well ends the job


def test_no_secret_stands_in_a_file_or_in_arguments() -> None:
    """The database's address and the token are in the environment, and come from elsewhere."""
    services = compose()["services"]
    for name in ("start", "worker", "serve"):
        assert "${POSTGRES_PASSWORD:?" in services[name]["environment"]["MANNERS_STORE"]
    assert "${MANNERS_SERVE_TOKEN:?" in services["serve"]["environment"]["MANNERS_SERVE_TOKEN"]
    for pod in pods().values():
        for row in [*pod.get("initContainers", ()), *pod["containers"]]:
            assert all(set(variable["valueFrom"]) == {"secretKeyRef"} for variable in row["env"])
            assert row["env"][0]["name"] == "MANNERS_STORE"
    for name in UNITS:
        if name.endswith(".service"):
            assert "EnvironmentFile" in unit(name)["Service"]
    lines = [" ".join(words) for words in command_lines().values()]
    assert not [line for line in lines if "postgresql" in line or "--token" in line]


def test_nothing_runs_as_root_or_writes_to_its_root() -> None:
    """The image has a user of its own, and so have pods and units."""
    (user,) = re.findall(r"^USER (\d+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    for name, pod in pods().items():
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] == int(user), name
        for row in [*pod.get("initContainers", ()), *pod["containers"]]:
            assert row["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
    for name, service in compose()["services"].items():
        if service["image"] == "manners":
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
    for name in ("manners-worker@.service", "manners-serve.service"):
        assert set(unit(name)["Service"]) >= HARDENED
        assert unit(name)["Service"]["DynamicUser"] == "yes"
        assert unit(name)["Service"]["ProtectSystem"] == "strict"


def test_images_have_a_version() -> None:
    """Nothing is `latest`: who starts it tomorrow gets what was looked at today."""
    images = [service["image"] for service in compose()["services"].values()]
    images += re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    for name in images:
        assert name == "manners" or re.fullmatch(r"[\w./-]+:v?\d+\.\d+[\w.-]*", name), name


@pytest.mark.parametrize("file", UNITS)
def test_a_unit_has_keys_that_systemd_knows(file: str) -> None:
    """In the sections where it looks for them; a key that it does not know, it ignores."""
    found = {name: set(unit(file)[name]) for name in unit(file).sections()}
    assert found.keys() <= SYSTEMD.keys()
    assert {
        name: keys - SYSTEMD[name] for name, keys in found.items() if keys - SYSTEMD[name]
    } == {}


def test_every_volume_and_service_that_is_named_is_there() -> None:
    """Of the compose file: what services mount, and what they wait for."""
    found = compose()
    for service in found["services"].values():
        names = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        files = {name for name in names if name.startswith("./")}
        assert names - files <= found["volumes"].keys()
        assert all((DEPLOY / name).is_file() for name in files)
        assert service.get("depends_on", {}).keys() <= found["services"].keys()
    context = DEPLOY / found["services"]["worker"]["build"]["context"]
    assert (context / found["services"]["worker"]["build"]["dockerfile"]).exists()
