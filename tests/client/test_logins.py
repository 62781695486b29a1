"""Logins and client certificates: each goes to its origin, and nowhere else; nothing shows them."""

import json
import logging
import ssl
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from manners import AsyncClient, Settings
from manners.cli import main
from manners.errors import SettingsError
from manners.settings import load
from tests.client.asking import AT_ONCE, run, site, to
from tests.faults.server import Call, Site, page

SECRET = "s3same-0pen"
BASIC = "Basic bWU6czNzYW1lLTBwZW4="


class Keys(NamedTuple):
    """What server and client need for TLS that asks for certificates on both sides."""

    server: ssl.SSLContext
    ca_file: str
    client_cert: str


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    folder, authority = tmp_path_factory.mktemp("keys"), trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("me@example.com").private_key_and_cert_chain_pem.write_to_path(
        folder / "me.pem"
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "127.0.0.2").configure_cert(tls)
    authority.configure_trust(tls)
    tls.verify_mode = ssl.CERT_OPTIONAL  # the handler says who needs one
    return Keys(tls, str(folder / "ca.pem"), str(folder / "me.pem"))


def test_each_origin_gets_its_own_and_no_other_sees_it(
    keys: Keys, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """robots.txt and pages of an origin are asked for with both; where it redirects to, without."""
    caplog.set_level(logging.DEBUG)
    seen: list[tuple[str, str, bool, str | None]] = []

    async def answer(call: Call) -> None:
        visit = await call.request()
        has_cert = bool(call._writer.get_extra_info("peercert"))
        seen.append((call.address, visit.path, has_cert, visit.headers.get("authorization")))
        if call.address == "127.0.0.1" and not has_cert:
            await call.reply(403)
            return
        other = f"https://127.0.0.2:{call.port}/other"
        back = f"https://127.0.0.1:{call.port}/back"
        await site(away=to(other), other=to(back), back=page(b"welcome"))(call)

    store = tmp_path / "proof.db"

    async def work() -> None:
        async with Site(answer, tls=keys.server) as server:
            mine = server.url()
            settings = Settings(
                **AT_ONCE,
                ca_file=keys.ca_file,
                logins={mine: f"me:{SECRET}"},
                client_certs={mine: keys.client_cert},
            )
            async with AsyncClient("MyBot", settings, evidence=store) as client:
                found = await client.get(server.url(path="/away"))
                assert (found.status, found.body) == (200, b"welcome")
                given = await client.get(server.url(path="/back"), {"authorization": "Own"})
                assert given.ok
            for shown in (repr(settings), json.dumps(settings.shown()), str(settings.changed())):
                assert SECRET not in shown
            assert "logins" not in settings.changed()
            assert SECRET not in repr(found)
            assert SECRET not in json.dumps(found.to_dict())

    run(work)
    ours = {(path, cert, login) for address, path, cert, login in seen if address == "127.0.0.1"}
    assert ours == {
        ("/robots.txt", True, BASIC),
        ("/away", True, BASIC),
        ("/back", True, BASIC),
        ("/back", True, "Own"),
    }
    theirs = {(cert, login) for address, _, cert, login in seen if address == "127.0.0.2"}
    assert theirs == {(False, None)}
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for secret in (SECRET, BASIC.partition(" ")[2]):
        assert secret not in caplog.text
        assert secret.encode() not in written


def test_another_scheme_or_port_is_another_origin() -> None:
    """A login for https is not sent over http, nor to another port."""

    async def work() -> None:
        async with Site(site(), ports=2) as server:
            url = server.url()
            logins = {url.replace("http:", "https:"): "me:a", server.url(port=1): "me:b"}
            async with AsyncClient("MyBot", logins=logins, **AT_ONCE) as client:
                assert (await client.get(url)).ok
            assert not any("authorization" in visit.headers for visit in server.log)

    run(work)


BAD = {
    "no password": {"https://a.example": SECRET},
    "no name": {"https://a.example": f":{SECRET}"},
    "no origin": {f"me:{SECRET}@a.example": "a:b"},
    "twice": {"https://a.example": f"a:{SECRET}", "https://a.example:443/": f"b:{SECRET}"},
    "a number": {"https://a.example": 7},
    "no table": SECRET,
}


@pytest.mark.parametrize("problem", BAD)
def test_an_invalid_login_is_not_shown(problem: str) -> None:
    """A message says which origin is meant and what is needed, not what was written."""
    with pytest.raises(SettingsError, match="logins") as caught:
        load(environment={"MANNERS_LOGINS": json.dumps(BAD[problem])})
    assert SECRET not in str(caught.value)


def test_an_invalid_certificate_is_an_error_before_any_request(keys: Keys, tmp_path: Path) -> None:
    """A file that is not there, has no key, or needs a password; nothing is asked on a terminal."""
    bad = tmp_path / "bad.pem"
    bad.write_text(Path(keys.ca_file).read_text())
    for name, problem in ((str(bad), "no certificate with its key"), ("/no/file", "cannot read")):
        with pytest.raises(SettingsError, match=problem):
            AsyncClient("MyBot", client_certs={"https://a.example": name})


def test_the_command_hides_logins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`manners settings` shows for which origins there are some."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MANNERS_LOGINS", json.dumps({"https://a.example": f"me:{SECRET}"}))
    assert main(["settings"]) == 0
    assert main(["settings", "--json"]) == 0
    shown = capsys.readouterr().out
    assert "https://a.example" in shown
    assert SECRET not in shown
