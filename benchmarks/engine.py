"""How fast the engine is, next to other parsers in the same run: `make bench`.

Each repetition uses URLs and files that no repetition before it used, and the parsers take turns,
so that a busy moment of the machine hits all of them. What is compared is the ratio, not the time.
"""

import argparse
import json
import random
import statistics
import time
import urllib.robotparser
from collections.abc import Callable
from typing import Any

from protego import Protego

import manners

AGENT = "MyBot"
WORDS = (
    *("account", "admin", "api", "archive", "author", "blog", "cart", "checkout", "compare"),
    *("contact", "download", "feed", "forum", "help", "images", "includes", "login", "media"),
    *("news", "print", "private", "products", "search", "share", "shop", "tag", "tmp", "user"),
)
WILD = ("/*?sort=", "/*&filter=", "/*.pdf$", "/*/print/", "/*sessionid", "/*.php$")

Check = Callable[[str], bool]


def manners_check(body: str) -> Check:
    return manners.parse(body, max_bytes=None).policy(AGENT).allowed


def protego_check(body: str) -> Check:
    robots = Protego.parse(body)
    return lambda url: bool(robots.can_fetch(url, AGENT))


def urllib_check(body: str) -> Check:
    robots = urllib.robotparser.RobotFileParser()
    robots.parse(body.splitlines())
    return lambda url: robots.can_fetch(AGENT, url)


PARSERS = {"manners": manners_check, "protego": protego_check, "urllib": urllib_check}


def typical_file(draw: random.Random) -> str:
    """30 rules, 6 of them with wildcards, as a shop or a news site has them."""
    words = draw.sample(WORDS, 24)
    rules = [f"Disallow: /{word}/{draw.choice(WORDS)}{draw.randrange(100)}" for word in words]
    rules += [f"Disallow: {pattern}" for pattern in WILD]
    draw.shuffle(rules)
    return "\n".join(["User-agent: *", *rules, "Crawl-delay: 1", ""])


def large_file(draw: random.Random, rules: int) -> str:
    """Thousands of rules, a tenth of them with wildcards."""
    lines = ["User-agent: *"]
    for number in range(rules):
        path = "/".join(draw.choices(WORDS, k=draw.randint(1, 4)))
        wild = f"/*/{draw.choice(WORDS)}-{number}" if number % 10 == 0 else ""
        lines.append(f"Disallow: {wild or f'/{path}/{number}'}")
    return "\n".join(lines)


def some_urls(draw: random.Random, count: int) -> list[str]:
    """Full URLs of about 70 characters, one in twenty with characters that need escaping."""
    found = []
    for number in range(count):
        path = "/".join(draw.choices(WORDS, k=3))
        odd = draw.choice(("%7Ejoe", "caf\u00e9", "a%20b")) if number % 20 == 0 else "page"
        found.append(f"https://www.example.com/{path}/{odd}-{draw.getrandbits(40):x}?id={number}")
    return found


def check_rate(
    draw: random.Random, make: Callable[[random.Random], str], counts: dict[str, int], rounds: int
) -> dict[str, float]:
    """Nanoseconds a check for each parser, the median of interleaved rounds."""
    taken: dict[str, list[float]] = {name: [] for name in counts}
    for _ in range(rounds):
        body = make(draw)
        for name, count in counts.items():
            check, urls = PARSERS[name](body), some_urls(draw, count)
            start = time.perf_counter()
            for url in urls:
                check(url)
            taken[name].append((time.perf_counter() - start) / count * 1e9)
    return {name: statistics.median(times) for name, times in taken.items()}


def parse_time(draw: random.Random, megabytes: int) -> float:
    """Seconds to parse a file of so many megabytes without a limit, the median of three."""
    taken = []
    for _ in range(3):
        body = large_file(draw, 40_000 * megabytes)[: megabytes * 1_000_000].encode()
        start = time.perf_counter()
        manners.parse(body, max_bytes=None)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def hostile(scale: int) -> dict[str, tuple[list[str], str]]:
    """Rules and a path made to be slow; doubling `scale` doubles the rules or the path.

    Rules have to differ to count, so the pieces of one kind grow with their number.
    """
    return {
        "9 stars, long path": (["/*a*a*a*a*a*a*a*a*b$"], "/" + "a" * 2_000 * scale),
        "250 rules of 1,000 pieces": (
            ["/" + "*a" * (1_000 + n) + "*b" for n in range(250 * scale)],
            "/b" + "a" * 2_000,
        ),
        "500 rules of 950 letters": (
            [f"/*{'a' * 950}*{n}" for n in range(500 * scale)],
            "/" + ("a" * 899 + "b") * 3,
        ),
        "15,000 wildcards at the root": (
            [f"/*{n:x}-{n * 7919 % 65536:x}/" for n in range(15_000 * scale)],
            "/" + "abcdef0123456789/" * 5,
        ),
        "1,000 nested prefixes": (["/" + "a" * n for n in range(1_000 * scale)], "/" + "a" * 3_000),
    }


def hostile_times(scale: int) -> dict[str, float]:
    """Microseconds a check against each hostile file, the median of 20."""
    found = {}
    for name, (patterns, path) in hostile(scale).items():
        rules = "\n".join(f"Disallow: {pattern}" for pattern in patterns)
        policy = manners.parse(f"User-agent: *\n{rules}", max_bytes=None).policy(AGENT)
        taken = []
        for number in range(20):
            start = time.perf_counter()
            policy.allowed(f"https://example.com{path}{number}")
            taken.append(time.perf_counter() - start)
        found[name] = statistics.median(taken) * 1e6
    return found


def measure(rounds: int, seed: int) -> dict[str, Any]:
    """Every figure of this benchmark."""
    draw = random.Random(seed)
    once, twice = hostile_times(1), hostile_times(2)
    five, ten = parse_time(draw, 5), parse_time(draw, 10)
    return {
        "seed": seed,
        "check, 30 rules (ns)": check_rate(
            draw, typical_file, {"manners": 20_000, "protego": 4_000, "urllib": 4_000}, rounds
        ),
        "check, 5,000 rules (ns)": check_rate(
            draw,
            lambda each: large_file(each, 5_000),
            {"manners": 5_000, "protego": 50, "urllib": 50},
            rounds,
        ),
        "parse 5 MB (s)": five,
        "parse 10 MB (s)": ten,
        "parse 10 MB / 5 MB": ten / five,
        "hostile (us)": once,
        "hostile, doubled / once": {name: twice[name] / once[name] for name in once},
    }


def show(figures: dict[str, Any]) -> None:
    """The figures as text, with ratios to manners."""
    for title, value in figures.items():
        if not isinstance(value, dict):
            print(f"{title}: {value:.3g}" if isinstance(value, float) else f"{title}: {value}")
            continue
        print(title)
        for name, figure in value.items():
            ratio = f"  {figure / value['manners']:8.1f} x" if "manners" in value else ""
            print(f"  {name:<32}{figure:>12,.1f}{ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    figures = measure(arguments.rounds, arguments.seed)
    print(json.dumps(figures, indent=2)) if arguments.json else show(figures)


if __name__ == "__main__":
    main()
