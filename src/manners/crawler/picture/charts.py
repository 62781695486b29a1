"""Charts as SVG. Quiet.

Across, everything is a share of the width, which no chart knows; down, it is pixels. So charts fill
whatever room there is, and what is round or thin in them stays so. Colours are classes: the style
sheet has them, for light and for dark.
"""

from collections.abc import Iterable, Sequence

from manners.crawler.picture import words
from manners.crawler.picture.elements import Child, Element, element
from manners.crawler.timeline import BINS, Bin, Lane, TimeLine

_GAPS, _COUNTS = 74.0, 18.0
"""Pixels of a lane: for gaps, and for the number of requests below them."""
_LEAST, _MOST = 1.5, 4.0
"""How many times the longest delay there is room for: longer gaps stand at the upper end."""


def bar(part: float, whole: float, kind: str) -> Element:
    """How much of a whole."""
    width = f"{100 * part / whole:.2f}%" if whole else "0"
    return _svg(8, element("rect", width=width, height=8, rx=2, class_=f"fill {kind}"))


def stack(parts: Iterable[tuple[float, str]], height: int = 14) -> Element:
    """Parts of a whole, one beside the other."""
    known = [(part, kind) for part, kind in parts if part]
    whole, at, drawn = sum(part for part, _ in known) or 1.0, 0.0, list[Child]()
    for part, kind in known:
        share = 100 * part / whole
        drawn.append(
            element(
                "rect", x=_at(at), width=_at(share), height=height, class_=f"fill stacked {kind}"
            )
        )
        at += share
    return _svg(height, drawn)


def top_of(lane: Lane) -> float:
    """The longest gap that a lane has room for, in seconds."""
    longest = max((each.gap or 0.0 for each in lane.bins), default=0.0)
    delay = max((each.delay for each in lane.bins), default=0.0)
    return max(min(longest * 1.05, _MOST * delay), _LEAST * delay) if delay else longest or 1.0


def lane(its: Lane, timeline: TimeLine, label: str) -> Element:
    """The gaps of a host against the delay in force, over time, and how many requests there were.

    A part of the time line in which there were several requests has the shortest gap of them.
    """
    top, length = top_of(its), _length(timeline)
    most = max((each.requests for each in its.bins), default=1)
    half = timeline.step / 2
    width = max(100 * timeline.step / length - 0.15, 0.1)
    drawn: list[Child] = [
        element("line", x1="0", x2="100%", y1=_GAPS, y2=_GAPS, class_="base"),
        *(_pause(100 * pause.at / length) for pause in timeline.pauses),
    ]
    for each in its.bins:
        high = (_COUNTS - 3) * each.requests / most
        x = _at(100 * each.at / length)
        drawn.append(
            element("rect", x=x, y=_GAPS + 2, width=_at(width), height=_px(high), class_="count")
        )
    drawn += _delays(its.bins, timeline, top)
    for each in its.bins:
        if each.gap is None:
            continue
        is_over = each.gap > top
        kind = "gap over" if is_over else "gap"
        y = _px(_down(min(each.gap, top), top))
        at = _at(100 * (each.at + half) / length)
        drawn.append(element("circle", cx=at, cy=y, r=2, class_=kind))
    return _svg(int(_GAPS + _COUNTS), drawn, label)


def axis(timeline: TimeLine) -> Element:
    """The times below the lanes."""
    drawn = []
    parts = (0, "start"), (25, "middle"), (50, "middle"), (75, "middle"), (100, "end")
    for part, anchor in parts if timeline.seconds else parts[:1]:
        at = words.instant(timeline.seconds * part / 100, timeline.seconds / 4)
        drawn.append(element("text", at, x=f"{part}%", y=12, text_anchor=anchor, class_="tick"))
    return _svg(16, drawn)


def _delays(bins: Sequence[Bin], timeline: TimeLine, top: float) -> list[Child]:
    """The delay in force as steps: what is the same for a while is one line."""
    length = _length(timeline)
    drawn: list[Child] = []
    for number, each in enumerate(bins):
        if number and each.delay == bins[number - 1].delay:
            continue
        until = next((its.at for its in bins[number:] if its.delay != each.delay), length)
        x, y = _at(100 * each.at / length), _px(_down(min(each.delay, top), top))
        drawn.append(
            element("line", x1=x, x2=_at(100 * until / length), y1=y, y2=y, class_="delay")
        )
        if number:
            before = _px(_down(min(bins[number - 1].delay, top), top))
            drawn.append(element("line", x1=x, x2=x, y1=before, y2=y, class_="delay"))
    return drawn


def _length(timeline: TimeLine) -> float:
    """The seconds that a lane has room for: its parts, and one more for what starts at the end."""
    return (BINS + 1) * timeline.step


def _pause(at: float) -> Element:
    return element("line", x1=_at(at), x2=_at(at), y1="0", y2=_GAPS + _COUNTS, class_="pause")


def _down(gap: float, top: float) -> float:
    """How far down a gap stands."""
    return _GAPS - 1 - (_GAPS - 6) * gap / top


def _svg(height: int, drawn: Child, label: str | None = None) -> Element:
    """A picture; one without a label says nothing that does not stand beside it."""
    if label is None:
        return element(
            "svg", drawn, width="100%", height=height, aria_hidden="true", focusable="false"
        )
    return element("svg", drawn, width="100%", height=height, role="img", aria_label=label)


def _at(share: float) -> str:
    return f"{share:.2f}%"


def _px(down: float) -> str:
    return f"{down:.1f}"
