"""A crawl of sites that would like to run something, or to break the page that tells of it."""

from pathlib import Path

from sqlalchemy import update

from manners._text import without_surrogates
from manners.crawler.frontier.tables import crawls, pages, urls
from manners.crawler.frontier.values import clean
from manners.evidence.store import EvidenceStore
from manners.signals.decision import UsageDecision, by_page
from manners.signals.markup import PageElement
from manners.signals.material import Material
from tests.crawler.made import Made, site

ATTACKS = (
    "<script>window.hacked = 1; alert(1)</script>",
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "'><svg onload=alert(1)>",
    "</text></svg><script>window.hacked=1</script>",
    "</style><style>*{display:none!important}</style>",
    "</title></bdi></td></table><h1>hacked</h1>",
    "<base href='http://127.0.0.1:1/'><meta http-equiv=refresh content='0;url=http://127.0.0.1:1/'>",
    "<iframe src='http://127.0.0.1:1/'></iframe><object data='http://127.0.0.1:1/'></object>",
    "javascript:window.hacked=1//",
    "<!-- --!> ]]> <![CDATA[ <plaintext>",
    "&lt;script&gt;window.hacked=1&lt;/script&gt;",
    "{{ 7*7 }} ${7*7} <%= 7*7 %>",
    "\u202egnp.exe\u202c \u2066\u2067 \u200f\u061c",
    "\x1b[2J\x1b]0;x\x07\x00\x9b31m\x85\u2028\u2029",
    "W" * 5_000,
    "ＷＷ" * 800,
    "Z" + "\u0337\u0321\u0354\u0301" * 400,
    "مرحبا بالعالم " * 40,
    "  spaces\t\tand\ttabs   ",
    "\udcff\ud800 not text",
)
ROBOTS = "\n".join(
    [
        "User-agent: *",
        *(f"Disallow: /no/{number}/{attack}" for number, attack in enumerate(ATTACKS)),
        *(f"{attack}" for attack in ATTACKS),
        "Disallow: /" + "x" * 17_000,
    ]
).encode("utf-8", "surrogatepass")
SITE = "https://hostile.example"


def usage(attack: str) -> UsageDecision:
    """What a site says about usage that contradicts itself, with an attack wherever it can."""
    written = without_surrogates(attack)
    headers = (("Content-Signal", f"ai-train=yes, {written}"), ("X-Robots-Tag", f"noai, {written}"))
    element = PageElement("meta", {"name": "robots", "content": f"noai,{written}"}, text=written)
    material = Material(url=f"{SITE}/", headers=headers, html=(element,), licences={})
    return by_page(material, "ai-train", "allow")


def made(place: str | Path) -> None:
    """Write the crawl down: every attack wherever a site, or a user, can put text."""
    agent = "Bot" + "".join(ATTACKS[:6])
    crawl = Made(place, f"{SITE}/{ATTACKS[0]}", agent=agent, robots={SITE: ROBOTS}, note=ATTACKS[1])
    problems = [
        {"problem": attack, "detail": attack, "line": 3} for attack in (*ATTACKS[:4], ATTACKS[15])
    ]
    for number, attack in enumerate(ATTACKS):
        crawl.at += 0.5
        crawl.ask(f"{SITE}/{attack}", title=attack, form=attack[:200], usage=usage(attack))
        crawl.ask(f"{SITE}/no/{number}/{attack}")
        crawl.ask(f"{SITE}/bad/{number}/{attack}", None, cause=attack)
        crawl.ask(f"{SITE}/{number}.xml?{attack}", kind="sitemap", form=attack, problems=problems)
        crawl.out(f"{SITE}/out/{attack}", "other-host", attack, f"{SITE}/{attack}")
        crawl.out(f"{SITE}/why/{attack}", attack[:500], attack)
        crawl.out(f"{SITE}/trap/{attack}", f"trap: {attack[:500]}", attack)
    for number, name in enumerate(("W" * 253, "xn--" + "a-" * 80, "b.example")):
        crawl.at += 0.5
        crawl.ask(f"https://{name}/{number}")
    crawl.at += 0.5
    changed = ROBOTS.replace(b"/no/", b"/changed/")
    crawl._sites[SITE] = site(SITE, changed, crawl.at)
    crawl.ask(f"{SITE}/after the change")
    crawl.write(f"failed: {ATTACKS[0]}{ATTACKS[15]}", 30.0)
    with EvidenceStore(place) as store, store.writing() as connection:
        # What no site can do, but somebody who has the store in hand.
        connection.execute(
            update(urls).where(urls.c.url.like("%b.example%")).values(host=clean(ATTACKS[2]))
        )
        connection.execute(
            update(pages).where(pages.c.status == 200).values(delay=0.5, type=clean(ATTACKS[3]))
        )
        connection.execute(update(crawls).values(start=clean(f"{SITE}/{' '.join(ATTACKS)}")))
