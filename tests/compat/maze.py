"""A site that tries everything to send a browser where robots.txt does not let it.

Whatever is below `/no/` is disallowed, and named after what leads there.
"""

import random

from tests.client.asking import rules
from tests.faults.server import Call, Handler

HTML = [("Content-Type", "text/html")]
SCRIPT = [("Content-Type", "text/javascript")]
ROBOTS = rules("Disallow: /no/")

NAVIGATIONS = {
    "location": "<script>location = '/no/location'</script>",
    "late": "<script>setTimeout(() => location.assign('/no/late'), 20)</script>",
    "refresh": "<meta http-equiv=refresh content='0;url=/no/refresh'>",
    "redirect": "<script>location = '/go/no/redirect'</script>",
    "form": "<form id=f action=/no/form><input name=q></form><script>f.submit()</script>",
    "post": "<form id=f action=/no/post method=post></form><script>f.submit()</script>",
    "script-url": """<a id=go href="javascript:location='/no/script-url'">x</a>
        <script>go.click()</script>""",
    "history": "<script>history.pushState({}, '', '/no/history'); location.reload()</script>",
    "base": "<base href=/no/><a id=go href=base>x</a><script>go.click()</script>",
    "header": "<script>location = '/refresh/no/header'</script>",
}
"""What takes the window away; a page has one of them."""
REQUESTS = {
    "image": "<img src=/no/image>",
    "hop-image": "<img src=/go/no/hop-image>",
    "style": "<style>@import '/no/style'; body { background: url(/go/no/style) }</style>",
    "frame": "<iframe src=/no/frame></iframe>",
    "hop-frame": "<iframe src=/go/no/hop-frame></iframe>",
    "srcdoc": "<iframe srcdoc=\"<script>location = '/no/srcdoc'</script>\"></iframe>",
    "object": "<object data=/no/object></object><embed src=/no/object type=text/html>",
    "fetch": "<script>fetch('/no/fetch')</script>",
    "hop-fetch": "<script>fetch('/go/no/hop-fetch')</script>",
    "beacon": "<script>navigator.sendBeacon('/no/beacon', 'x')</script>",
    "events": "<script>new EventSource('/no/events')</script>",
    "socket": "<script>new WebSocket(`ws://${location.host}/no/socket`)</script>",
    "import": "<script type=module>import('/no/import')</script>",
    "worker": """<script>new Worker(URL.createObjectURL(new Blob(
        [`new WebSocket('ws://${location.host}/no/worker'); fetch('${origin}/no/worker')`])))
        </script>""",
    "service": "<script>navigator.serviceWorker?.register('/service.js')</script>",
    "popup": "<script>window.open('/no/popup')</script>",
    "hop-popup": "<script>window.open('/go/no/hop-popup')</script>",
    "opener": "<script>const other = window.open('about:blank');"
    " if (other) other.location = '/no/opener'</script>",
    "ping": "<a id=ping href='#x' ping=/no/ping>x</a><script>ping.click()</script>",
    "download": "<a id=load href=/no/download download>x</a><script>load.click()</script>",
    "prefetch": "<link rel=prefetch href=/no/prefetch>",
    "preload": "<link rel=preload as=image href=/no/preload>",
    "speculation": """<script type=speculationrules>
        {"prefetch": [{"urls": ["/no/speculation"], "eagerness": "immediate"}],
         "prerender": [{"urls": ["/no/speculation?"], "eagerness": "immediate"}]}</script>""",
}
"""What asks for something else beside it; a page has all of them."""
UNSEEN = {"socket", "speculation", "service"}
"""What is stopped before the gate sees a request for it."""


def maze(seed: int) -> Handler:
    """The site: `/page/N` has every trap, and one of those that take the window away."""
    names = list(NAVIGATIONS)
    chance = random.Random(seed)

    async def answer(call: Call) -> None:
        visit = await call.request()
        path = visit.path.partition("?")[0]
        if path == "/robots.txt":
            await ROBOTS(call)
        elif path.startswith("/page/"):
            number = int(path.rpartition("/")[2])
            traps = [*REQUESTS.values()]
            chance.shuffle(traps)
            links = "".join(f"<a href=/page/{chance.randrange(1_000)}>y</a>" for _ in range(3))
            taken = NAVIGATIONS[names[number % len(names)]]
            body = f"<!doctype html><body>{links}{''.join(traps)}{taken}"
            await call.reply(200, body.encode(), HTML)
        elif path.startswith("/go/"):  # two redirects, so that one of them leads there
            target = f"/go2{path.removeprefix('/go')}"
            await call.reply(302, headers=[("Location", target)])
        elif path.startswith("/go2/"):
            await call.reply(307, headers=[("Location", path.removeprefix("/go2"))])
        elif path.startswith("/refresh/"):
            target = path.removeprefix("/refresh")
            await call.reply(200, b"x", [*HTML, ("Refresh", f"0; url={target}")])
        elif path == "/service.js":
            await call.reply(200, b"fetch('/no/service')", SCRIPT)
        else:
            await call.reply(200, b"reached", HTML)

    return answer
