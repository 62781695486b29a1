"""Sites made up of numbered pages, and what a plain search says has to become of each."""

import random

from manners.crawler.reasons import DEPTH, NOFOLLOW

NODES = 12
BESIDE = 8
"""From here on they are beside the long way, and may come late."""
Edges = list[tuple[int, int, bool]]


class Model:
    """What has to become of a site: a plain search by depth, in what is known beforehand."""

    def __init__(self, edges: Edges, moved: dict[int, int], limit: int | None) -> None:
        self.depths: dict[int, int] = {}
        self.shunned: set[int] = set()
        waiting = [(0, 0)]
        while waiting:
            waiting.sort()
            depth, node = waiting.pop(0)
            if node in self.depths:
                continue
            self.depths[node] = depth
            if limit is not None and depth > limit:
                continue
            if node in moved:
                waiting.append((depth, moved[node]))
                continue
            for source, target, nofollow in edges:
                if source == node and nofollow:
                    self.shunned.add(target)
                elif source == node:
                    waiting.append((depth + 1, target))
        self.shunned -= set(self.depths)
        self.limit = limit

    def fates(self) -> dict[str, tuple[str, str]]:
        found = {f"/{node}": ("blocked", NOFOLLOW) for node in self.shunned}
        for node, depth in self.depths.items():
            is_cut = self.limit is not None and depth > self.limit
            found[f"/{node}"] = ("blocked", DEPTH) if is_cut else ("done", "")
        return found


def made_up(draw: random.Random) -> tuple[Edges, dict[int, int]]:
    """A long way, and shorter ones beside it; links to anywhere; and some that are elsewhere."""
    edges: Edges = [(n, n + 1, False) for n in range(BESIDE - 1)]
    for side in range(BESIDE, NODES):
        edges.append((draw.choice((0, 0, 1)), side, False))
        edges.append((side, draw.randrange(3, BESIDE), draw.random() < 0.1))
    for _ in range(draw.randrange(4)):
        edges.append((draw.randrange(NODES), draw.randrange(NODES), draw.random() < 0.3))
    moved_to = {
        draw.randrange(1, NODES): draw.randrange(NODES) for _ in range(draw.choice((0, 0, 1, 2)))
    }
    return edges, moved_to
