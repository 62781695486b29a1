"""When each host was asked, against the delay in force."""

from manners._text import count, cut, duration
from manners.report.data import Report
from manners.report.html import charts, words
from manners.report.html.elements import Child, Element, element, untrusted
from manners.report.html.parts import note, nothing, table
from manners.report.timeline import Lane, Timeline

ORDER = 10
TITLE = "Timeline"

_PAUSES = 5
_LEGEND = (
    (element("circle", cx=9, cy=6, r=2.5, class_="gap"), "time since the previous request"),
    (element("circle", cx=9, cy=6, r=2.5, class_="gap over"), "longer than the scale"),
    (element("line", x1=1, x2=17, y1=6, y2=6, class_="delay"), "delay in force"),
    (element("rect", x=4, y=2, width=10, height=9, class_="count"), "number of requests"),
)


def content(report: Report) -> Child:
    """A lane for each of the hosts with most requests, and the same in numbers."""
    timeline = report.timeline
    if not timeline.lanes:
        return nothing("Nothing was requested.")
    return [
        note(
            "How far apart requests to a host started, against the minimum delay in force: what the"
            " site asks for, and what its response times suggest. Every attempt counts; requests"
            f" for robots.txt do not.{_pauses(timeline)}{_other_hosts(timeline)}"
        ),
        element(
            "div", (element("span", _sign(sign), text) for sign, text in _LEGEND), class_="legend"
        ),
        [_lane(lane, timeline) for lane in timeline.lanes],
        element("div", element("div"), charts.axis(timeline), class_="plot", aria_hidden="true"),
        _numbers(timeline),
    ]


def _pauses(timeline: Timeline) -> str:
    pauses = [
        f"{duration(pause.seconds)} after {duration(pause.at)}"
        for pause in timeline.pauses[:_PAUSES]
    ]
    return f" Pauses are skipped: {', '.join(pauses)}." if pauses else ""


def _other_hosts(timeline: Timeline) -> str:
    number = timeline.hosts - len(timeline.lanes)
    return f" Only the busiest hosts are shown, without {count(number, 'other')}." if number else ""


def _sign(shape: Element) -> Element:
    return element("svg", shape, width=18, height=12, aria_hidden="true")


def _lane(lane: Lane, timeline: Timeline) -> Element:
    requests = count(lane.requests, "request")
    shortest = "" if lane.shortest is None else f"shortest gap {duration(lane.shortest)}"
    delays = sorted({step.delay for step in lane.bins})
    delay = f"delay {duration(delays[0])}"
    if len(delays) > 1:
        delay += f" to {duration(delays[-1])}"
    facts = [fact for fact in (requests, shortest, delay) if fact]
    label = f"{cut(lane.host, 200)}: {', '.join(facts)}. The numbers are in a table below."
    return element(
        "div",
        element(
            "div",
            element("h3", untrusted(lane.host, 100)),
            (element("span", fact) for fact in facts),
            class_="about",
        ),
        element("div", _scale(lane), charts.lane_chart(lane, timeline, label), class_="plot"),
        class_="lane",
    )


def _scale(lane: Lane) -> Element:
    most = max(step.requests for step in lane.bins)
    return element(
        "div",
        element("span", duration(charts.scale_end(lane)), class_="upper"),
        element("span", "0", class_="lower"),
        element("span", f"max {most:,}", class_="most"),
        class_="scale",
        aria_hidden="true",
    )


def _numbers(timeline: Timeline) -> Element:
    """The timeline for those who cannot see it."""
    tables = [
        table(
            cut(lane.host, 100),
            ("From", "Requests>", "Shortest gap>", "Delay in force>"),
            (
                (
                    words.instant(step.at, timeline.step),
                    f"{step.requests:,}",
                    "" if step.gap is None else duration(step.gap),
                    duration(step.delay),
                )
                for step in lane.bins
            ),
        )
        for lane in timeline.lanes
    ]
    summary = f"The timeline in numbers, in steps of {duration(timeline.step)}"
    return element("details", element("summary", summary), tables, class_="numbers")
