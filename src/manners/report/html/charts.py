"""Charts as SVG. Quiet.

Horizontally everything is a percentage, because no chart knows its width; vertically it is pixels.
So charts fill the available width, and circles and thin lines keep their shape. Colours are
classes: the style sheet has them, for light and for dark.
"""

from collections.abc import Iterable, Sequence

from manners.report.html import words
from manners.report.html.elements import Child, Element, element
from manners.report.timeline import BINS, Bin, Lane, Timeline

_GAPS_HEIGHT, _COUNTS_HEIGHT = 74.0, 18.0
"""Pixels of a lane: for gaps, and for the number of requests below them."""
_MIN_SCALE, _MAX_SCALE = 1.5, 4.0
"""The scale ends between these multiples of the longest delay; longer gaps are drawn at its end."""


def bar(part: float, total: float, kind: str) -> Element:
    """A bar for a part of a total."""
    width = f"{100 * part / total:.2f}%" if total else "0"
    return _svg(8, element("rect", width=width, height=8, rx=2, class_=f"fill {kind}"))


def stack(parts: Iterable[tuple[float, str]], height: int = 14) -> Element:
    """A bar that is divided into parts, with the class of each."""
    nonzero = [(part, kind) for part, kind in parts if part]
    total, x, shapes = sum(part for part, _ in nonzero) or 1.0, 0.0, list[Child]()
    for part, kind in nonzero:
        share = 100 * part / total
        attributes = {"x": _percent(x), "width": _percent(share), "class_": f"fill stacked {kind}"}
        shapes.append(element("rect", height=height, **attributes))
        x += share
    return _svg(height, shapes)


def scale_end(lane: Lane) -> float:
    """The longest gap that is drawn to scale, in seconds."""
    longest = max((step.gap or 0.0 for step in lane.bins), default=0.0)
    delay = max((step.delay for step in lane.bins), default=0.0)
    if not delay:
        return longest or 1.0
    return max(min(longest * 1.05, _MAX_SCALE * delay), _MIN_SCALE * delay)


def lane_chart(lane: Lane, timeline: Timeline, label: str) -> Element:
    """The gaps between requests to a host against the delay in force, and the number of requests.

    A step of the timeline with several requests shows the shortest gap.
    """
    length = _length(timeline)
    shapes: list[Child] = [
        element("line", x1="0", x2="100%", y1=_GAPS_HEIGHT, y2=_GAPS_HEIGHT, class_="base"),
        *(_pause(100 * pause.at / length) for pause in timeline.pauses),
        *_counts(lane.bins, timeline),
        *_delays(lane.bins, timeline, scale_end(lane)),
        *_gaps(lane.bins, timeline, scale_end(lane)),
    ]
    return _svg(int(_GAPS_HEIGHT + _COUNTS_HEIGHT), shapes, label)


def axis(timeline: Timeline) -> Element:
    """The times below the lanes."""
    ticks = (0, "start"), (25, "middle"), (50, "middle"), (75, "middle"), (100, "end")
    shapes = []
    for part, anchor in ticks if timeline.seconds else ticks[:1]:
        label = words.instant(timeline.seconds * part / 100, timeline.seconds / 4)
        shapes.append(element("text", label, x=f"{part}%", y=12, text_anchor=anchor, class_="tick"))
    return _svg(16, shapes)


def _counts(bins: Sequence[Bin], timeline: Timeline) -> Iterable[Child]:
    """The number of requests in each step."""
    length, most = _length(timeline), max((step.requests for step in bins), default=1)
    width = _percent(max(100 * timeline.step / length - 0.15, 0.1))
    for step in bins:
        x, height = _percent(100 * step.at / length), (_COUNTS_HEIGHT - 3) * step.requests / most
        yield element(
            "rect", x=x, y=_GAPS_HEIGHT + 2, width=width, height=_pixels(height), class_="count"
        )


def _gaps(bins: Sequence[Bin], timeline: Timeline, end: float) -> Iterable[Child]:
    """The shortest gap in each step."""
    length, half = _length(timeline), timeline.step / 2
    for step in bins:
        if step.gap is not None:
            x, y = _percent(100 * (step.at + half) / length), _y(step.gap, end)
            kind = "gap over" if step.gap > end else "gap"
            yield element("circle", cx=x, cy=y, r=2, class_=kind)


def _delays(bins: Sequence[Bin], timeline: Timeline, end: float) -> Iterable[Child]:
    """The delay in force, as a line with steps."""
    length = _length(timeline)
    for number, step in enumerate(bins):
        if number and step.delay == bins[number - 1].delay:
            continue
        until = next((later.at for later in bins[number:] if later.delay != step.delay), length)
        x, y = _percent(100 * step.at / length), _y(step.delay, end)
        x_end = _percent(100 * until / length)
        yield element("line", x1=x, x2=x_end, y1=y, y2=y, class_="delay")
        if number:
            before = _y(bins[number - 1].delay, end)
            yield element("line", x1=x, x2=x, y1=before, y2=y, class_="delay")


def _length(timeline: Timeline) -> float:
    """The seconds that a lane shows: all steps, and one more for requests at the very end."""
    return (BINS + 1) * timeline.step


def _pause(x: float) -> Element:
    height = _GAPS_HEIGHT + _COUNTS_HEIGHT
    return element("line", x1=_percent(x), x2=_percent(x), y1="0", y2=height, class_="pause")


def _y(gap: float, end: float) -> str:
    """The vertical position of a gap; longer ones are at the end of the scale."""
    return _pixels(_GAPS_HEIGHT - 1 - (_GAPS_HEIGHT - 6) * min(gap, end) / end)


def _svg(height: int, shapes: Child, label: str | None = None) -> Element:
    """A chart; one without a label repeats what the text beside it says."""
    if label is None:
        return element(
            "svg", shapes, width="100%", height=height, aria_hidden="true", focusable="false"
        )
    return element("svg", shapes, width="100%", height=height, role="img", aria_label=label)


def _percent(share: float) -> str:
    return f"{share:.2f}%"


def _pixels(value: float) -> str:
    return f"{value:.1f}"
