"""`manners demo`: a few verdicts on a sample file, each with its reason."""

from importlib.resources import files

from manners.cli import render
from manners.robots.policy import parse

_QUESTIONS = (
    ("MyBot", "/", "No rule matches, so it is allowed."),
    ("MyBot", "/cart/checkout", "A rule covers every path that begins with it."),
    ("MyBot", "/search?q=shoes", "The query is part of what is matched."),
    ("MyBot", "/search/help/returns", "The longer rule wins, wherever it stands."),
    ("MyBot", "/manual.pdf", "`*` is any run of characters, `$` is the end."),
    ("MyBot", "/manual.pdf?page=2", "There is more after .pdf, so `$` does not match."),
    ("MyBot", "/drafts/new", "The key is misspelt; what the owner meant is plain."),
    ("MyBot", "/c%61rt", "%61 is the letter a: encoded or not, it is one path."),
    ("PriceBot/2.0", "/search/help", "It has a group of its own, and reads no other."),
    ("PriceBot/2.0", "/prices/today", "The longer rule wins."),
    ("PriceBot/2.0", "/robots.txt", "Always allowed, whatever the rules say."),
)


def command() -> int:
    """Check a handful of URLs against a sample robots.txt and explain each answer."""
    sample = files("manners.cli").joinpath("sample-robots.txt").read_bytes()
    robots = parse(sample, url="https://shop.example/robots.txt")
    print(render.styled("https://shop.example/robots.txt", "bold"))
    for number, line in enumerate(sample.decode().splitlines(), 1):
        print(f"  {number:>2}  {line}".rstrip())
    agent = ""
    for name, path, why in _QUESTIONS:
        if name != agent:
            agent = name
            delay = robots.policy(name).crawl_delay
            pace = f", {delay:g} seconds between requests" if delay else ""
            print(f"\n{render.styled(f'As {name}{pace}', 'bold')}")
        print(f"  {render.verdict_line(robots.check('https://shop.example' + path, agent=name))}")
        print(f"              {why}")
    print("\nTry your own: manners check --robots FILE --agent NAME URL")
    return 0
