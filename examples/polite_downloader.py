"""Download a list of URLs to a folder, many sites side by side, each at its own pace.

    python polite_downloader.py urls.txt downloads --agent "MyBot/1.0 (+https://example.com/bot)"

The client obeys robots.txt and its delays, and follows redirects. Every decision is recorded in
`downloads/evidence.db` before the request; `manners evidence verify --store …` checks the records.
The exit code is 0 when everything was downloaded, 1 otherwise.

Settings come from `manners.toml` and the environment: for a site on your own machine, run it with
MANNERS_ALLOW_PRIVATE=true.
"""

import argparse
import asyncio
import hashlib
import sys
from pathlib import Path

import manners
from manners import MannersError


async def download(client: manners.AsyncClient, url: str, folder: Path) -> bool:
    """Download one URL to a file; whether that worked."""
    try:
        page = await client.get(url)
    except MannersError as error:  # HostDeferred, for example, says until when
        print(f"not now  {url}  {error}")
        return False
    if not page.ok:
        print(f"failed   {url}  {page}")  # the verdict, the status, or the cause
        return False
    file = folder / hashlib.sha256(url.encode()).hexdigest()[:16]
    await asyncio.to_thread(file.write_bytes, page.body)
    print(f"saved    {url}  {file}, {len(page.body)} bytes, record {page.evidence_id}")
    return True


async def main() -> int:
    """Download everything, and count what failed."""
    options = argparse.ArgumentParser(description="Download URLs politely.")
    options.add_argument("file", type=Path, help="a file with one URL a line")
    options.add_argument("folder", type=Path, help="where pages and evidence are kept")
    options.add_argument("--agent", default="MyBot", help="sent as User-Agent")
    given = options.parse_args()

    urls = dict.fromkeys(given.file.read_text("utf-8").split())  # without duplicates
    given.folder.mkdir(parents=True, exist_ok=True)
    async with manners.AsyncClient(
        given.agent, manners.Settings.load(), evidence=given.folder / "evidence.db"
    ) as client:
        # The client sends few requests at a time; the others wait their turn.
        saved = await asyncio.gather(*(download(client, url, given.folder) for url in urls))
    print(f"{sum(saved)} of {len(saved)} downloaded")
    return 0 if all(saved) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
