"""The dashboard and the alerts in `deploy/`: every expression asks for what we have."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import promql_parser
import pytest
import yaml
from prometheus_client.core import Metric

from manners import events
from manners.compat.prometheus import Metrics, RequestCounts
from manners.web.pages.health import ServiceCollector
from manners.web.service import Service, Serving
from tests.client.asking import run, settings

ROOT = Path(__file__).parents[1]
TARGET = {"job", "instance"}
"""Labels that Prometheus adds to whatever it scrapes."""


def samples_of(metric: Metric) -> Iterator[tuple[str, set[str]]]:
    """Names of a metric that was collected, with their labels."""
    for sample in metric.samples:
        yield sample.name, set(sample.labels)


def of_the_service() -> list[Metric]:
    """What the service counts."""

    async def ask() -> list[Metric]:
        service = Service(settings(), Serving(port=0))
        await service.open()
        service.replies["/v1/check", 200], service.seconds["/v1/check"] = 1, 0.1
        try:
            return list(ServiceCollector(service).collect())
        finally:
            await service.close()

    return run(ask)


@pytest.fixture(scope="module")
def known() -> dict[str, set[str]]:
    """Every series that a worker or a service has, by name, with its labels."""
    counts = RequestCounts()
    counts.count(
        events.RequestEnd(
            *(0.0, 1, "a.example", "https://a.example/", "page", "GET", 1, 0.1, 200, "", ""),
            *(0.1, 10, True, "normal"),
        )
    )
    found: dict[str, set[str]] = {"up": set()}
    for metric in (*counts.collect(), *of_the_service()):
        for name, labels in samples_of(metric):
            found.setdefault(name, set()).update(labels)
    registry: Any = Metrics().registry
    for collector in registry._collector_to_names:
        names = getattr(collector, "_labelnames", None)
        if names is not None:  # the others were collected above
            for name in registry._collector_to_names[collector]:
                more = {"le"} if name.endswith("_bucket") else set()
                found[name] = {*names, *more}
    return found


def expressions() -> dict[str, str]:
    """Every expression, by its place."""
    found = {}
    rules = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text("utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            found[rule["alert"]] = rule["expr"]
    dashboard = json.loads((ROOT / "deploy" / "dashboard.json").read_text("utf-8"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            found[f"{panel['id']} {panel['title']} {target['refId']}"] = target["expr"]
    return found


def nodes(node: Any) -> Iterator[Any]:
    """An expression and all that it is made of."""
    yield node
    for name in ("lhs", "rhs", "expr", "vector_selector", "param"):
        part = getattr(node, name, None)
        if part is not None:
            yield from nodes(part)
    for part in getattr(node, "args", None) or ():
        yield from nodes(part)


def read(expression: str) -> list[Any]:
    """The parts of an expression, with the variables of Grafana filled in."""
    filled = expression.replace("$__rate_interval", "1m").replace("$job", "manners")
    return list(nodes(promql_parser.parse(filled)))


def problems(expression: str, known: Mapping[str, set[str]]) -> list[str]:
    """What an expression asks for that there is not."""
    found, labels = [], set(TARGET)
    parts = read(expression)
    selectors = [part for part in parts if isinstance(part, promql_parser.VectorSelector)]
    for part in selectors:
        name = part.name or ""
        if name not in known:
            found.append(f"no metric {name}")
            continue
        labels |= known[name]
        matched = {matcher.name for matcher in part.matchers.matchers}
        found += [f"{name} has no {label}" for label in matched - TARGET - known[name]]
    for part in parts:
        modifier = getattr(part, "modifier", None)
        used = getattr(modifier, "labels", None) or ()
        found += [f"no label {label}" for label in set(used) - labels]
        if getattr(part, "func", None) and part.func.name in ("rate", "increase"):
            series = part.args[0].vector_selector.name
            if not re.search(r"_(total|bucket|sum|count)$", series):
                found.append(f"{series} is no counter")
    return found if selectors else ["it asks for nothing"]


@pytest.mark.parametrize("place", expressions())
def test_an_expression_names_what_we_have(place: str, known: dict[str, set[str]]) -> None:
    """Metrics with their suffixes, labels of these metrics, and rates of counters alone."""
    assert problems(expressions()[place], known) == []


def test_what_is_wrong_is_found(known: dict[str, set[str]]) -> None:
    """A metric, a label or a rate that makes no sense."""
    wrong = {
        "manners_requests": "no metric manners_requests",
        'manners_requests_total{host="a"}': "manners_requests_total has no host",
        "sum by (host) (manners_requests_total)": "no label host",
        "rate(manners_hosts_backing_off[5m])": "manners_hosts_backing_off is no counter",
        "1": "it asks for nothing",
    }
    assert {text: problems(text, known) for text in wrong} == {
        text: [problem] for text, problem in wrong.items()
    }


def test_values_of_labels_are_some_that_there_are() -> None:
    """The states and kinds that expressions choose."""
    text = "\n".join(expressions().values())
    assert set(re.findall(r'state="([^"$]+)"', text)) <= set(events.STATES)
    assert set(re.findall(r'kind="([^"$]+)"', text)) <= {"page", "file", "robots"}
    assert set(re.findall(r'job="([^"$]+)"', text)) <= {
        row["job_name"]
        for row in yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text("utf-8"))[
            "scrape_configs"
        ]
    }


def test_the_dashboard_has_a_place_for_each_panel() -> None:
    """Panels have different numbers, and do not overlap."""
    dashboard = json.loads((ROOT / "deploy" / "dashboard.json").read_text("utf-8"))
    panels = cast(list[dict[str, Any]], dashboard["panels"])
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        assert 0 <= place["x"] <= place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken
                taken.add((x, y))


def test_the_documentation_says_what_to_do_about_each_alert() -> None:
    """By name, in the page about production."""
    page = (ROOT / "docs" / "how-to" / "production.md").read_text("utf-8")
    rules = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text("utf-8"))
    for rule in rules["groups"][0]["rules"]:
        assert f"`{rule['alert']}`" in page
