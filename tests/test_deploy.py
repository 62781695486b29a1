"""The files in `deploy/`: what they start is there, and they say what the documentation says.

Nothing is run in a container here: the files are read, and their command lines are parsed by the
command itself.
"""

import re
import shlex
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from manners import Settings
from manners.cli.app import build

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
PROGRAM = "/opt/manners/bin/manners"
"""Where the image, and the unit, have the command."""
SYSTEMD = {
    "Unit": {"Description", "Documentation", "Wants", "After"},
    "Service": {
        *("Type", "EnvironmentFile", "ExecStart", "Restart", "RestartSec", "SuccessExitStatus"),
        *("KillMode", "TimeoutStopSec", "DynamicUser", "StateDirectory", "NoNewPrivileges"),
        *("PrivateTmp", "ProtectHome", "ProtectSystem", "MemoryMax"),
    },
    "Install": {"WantedBy"},
}
"""Keys of systemd.unit(5), systemd.service(5), systemd.exec(5) and systemd.resource-control(5)."""


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    return found


def jobs() -> dict[str, dict[str, Any]]:
    """The jobs of Kubernetes, by name."""
    found = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))
    assert [each["kind"] for each in found] == ["Job", "Job"]
    return {each["metadata"]["name"]: each["spec"] for each in found}


def container(job: str) -> dict[str, Any]:
    (found,) = jobs()[job]["template"]["spec"]["containers"]
    return dict(found)


def unit() -> RawConfigParser:
    parser = RawConfigParser(delimiters=("=",), comment_prefixes=("#",), strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys as they are written
    parser.read_string((DEPLOY / "manners-worker@.service").read_text("utf-8"))
    return parser


def image() -> dict[str, list[str]]:
    """What the image runs, by instruction: the last one of each counts."""
    found = re.findall(
        r"^(ENTRYPOINT|CMD) (\[.+\])$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE
    )
    return {name: yaml.safe_load(words) for name, words in found}


def command_lines() -> dict[str, list[str]]:
    """Every command line of the package that the files have, without its first word."""
    services = compose()["services"]
    start, worker = services["start"], services["worker"]
    return {
        "Dockerfile": image()["CMD"],
        "compose start": [*start["entrypoint"][1:], *start["command"]],
        "compose worker": worker["command"],
        "kubernetes start": container("manners-start")["args"],
        "kubernetes worker": container("manners-worker")["args"],
        "systemd": shlex.split(unit()["Service"]["ExecStart"])[1:],
    }


@pytest.mark.parametrize("place", command_lines())
def test_a_command_line_is_one_of_ours(place: str) -> None:
    """The command has the subcommand, its options and its arguments; nothing is run."""
    words = command_lines()[place]
    command: Any = typer.main.get_command(build())
    while getattr(command, "commands", None):
        assert words[0] in command.commands, f"no {words[0]!r} in {command.name}"
        name, *words = words
        command = command.commands[name]
    assert command.name in ("start", "work")
    context = command.make_context(command.name, list(words))  # raises what is wrong
    assert context.args == []


def test_the_program_is_where_the_files_say() -> None:
    """The image and the unit have the command in the same place."""
    starts = [image()["ENTRYPOINT"][0], compose()["services"]["start"]["entrypoint"][0]]
    starts.append(shlex.split(unit()["Service"]["ExecStart"])[0])
    assert starts == [PROGRAM] * 3
    assert "/opt/manners/bin/pip install" in (DEPLOY / "Dockerfile").read_text()


def test_a_worker_has_the_time_that_it_needs_to_finish() -> None:
    """A running request, and a slow database: both have a timeout."""
    needed = Settings().page_total_timeout + Settings().server_timeout
    pod = jobs()["manners-worker"]["template"]["spec"]
    assert compose()["services"]["worker"]["stop_grace_period"] == "2m"
    assert int(unit()["Service"]["TimeoutStopSec"]) == 120
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
    """The database's address is in the environment, and its password comes from elsewhere."""
    services = compose()["services"]
    for name in ("start", "worker"):
        assert "${POSTGRES_PASSWORD:?" in services[name]["environment"]["MANNERS_STORE"]
    for name in jobs():
        (variable,) = container(name)["env"]
        assert variable["name"] == "MANNERS_STORE"
        assert variable["valueFrom"]["secretKeyRef"]["name"] == "manners-store"
    assert "EnvironmentFile" in unit()["Service"]
    assert not [words for words in command_lines().values() if "postgresql" in " ".join(words)]


def test_nothing_runs_as_root() -> None:
    """The image has a user of its own, and so have pods and units."""
    (user,) = re.findall(r"^USER (\d+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    security = jobs()["manners-worker"]["template"]["spec"]["securityContext"]
    assert security == {"runAsNonRoot": True, "runAsUser": int(user)}
    assert unit()["Service"]["DynamicUser"] == "yes"


def test_the_unit_has_keys_that_systemd_knows() -> None:
    """In the sections where it looks for them; a key that it does not know, it ignores."""
    found = {name: set(unit()[name]) for name in unit().sections()}
    assert found.keys() == SYSTEMD.keys()
    assert {
        name: keys - SYSTEMD[name] for name, keys in found.items() if keys - SYSTEMD[name]
    } == {}


def test_every_volume_and_service_that_is_named_is_there() -> None:
    """Of the compose file: what services mount, and what they wait for."""
    found = compose()
    for service in found["services"].values():
        names = {each.partition(":")[0] for each in service.get("volumes", ())}
        assert names <= found["volumes"].keys()
        assert service.get("depends_on", {}).keys() <= found["services"].keys()
    context = DEPLOY / found["services"]["worker"]["build"]["context"]
    assert (context / found["services"]["worker"]["build"]["dockerfile"]).exists()
