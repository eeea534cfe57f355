"""What a session is worth: cookies that were forged, kept, brought along; forms of other pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from gateway.host.console.access.guard import SESSION
from gateway.host.console.access.origin import safe_next
from gateway.host.console.access.roster import changed
from gateway.host.console.access.sessions import Held
from gateway.host.console.access.tokens import digest, new_token
from tests.unit.host.access.door import PASSWORD, Browser, Door, Shown, door


async def csrf_of(browser: Browser) -> str:
    return (await browser.get("/console")).text.split()[2]


async def test_a_cookie_that_was_made_up_is_nobody_s() -> None:
    async with door() as at, at.browser() as stranger, at.browser() as ada:
        await at.user("ada")
        await at.sign_in(ada, "ada")
        row = (await at.access.ledger.documents("web_session"))[-1]
        made_up = (new_token(), "", "x", row.key, digest(row.key), ada.cookie[:-1], "ada", "é" * 9)
        for token in made_up:
            shown = await stranger.get("/console", Cookie=f"{SESSION}={token}")
            assert shown.status == 303, token
        assert (await stranger.get("/console", Cookie=f"{SESSION}={ada.cookie}")).status == 200


async def test_the_cookie_is_for_our_pages_alone() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        morsel = (await at.sign_in(browser, "ada")).cookies[SESSION]
        assert morsel["httponly"]
        assert morsel["samesite"] == "Lax"
        assert (morsel["path"], morsel["domain"], morsel["secure"]) == ("/", "", "")
        assert len(morsel.value) >= 43, "256 bits"


@pytest.mark.parametrize("url", ["https://june.example", "HTTPS://june.example"])
async def test_over_tls_the_cookie_is_pinned_to_the_host(url: str) -> None:
    async with door(public_url=url) as at, at.browser() as browser:
        link = await at.invite("ada")
        seen = await browser.get(link)
        before = seen.cookies["__Host-june_console_before"]
        assert before["secure"]
        assert (before["path"], before["domain"]) == ("/", "")
        held = f"__Host-june_console_before={before.value}"
        at.secrets["ada"] = seen.text.split("Key: <code>")[1].split("<")[0].replace(" ", "")
        form = at.set_up_form(seen, "ada")
        done = await browser.post("/console/set-up", form, Cookie=held)
        session = done.cookies["__Host-june_console"]
        assert session["secure"]
        inside = await browser.get("/console", Cookie=f"__Host-june_console={session.value}")
        assert inside.status == 200
        assert (await browser.get("/console", Cookie=f"{SESSION}={session.value}")).status == 303


@pytest.mark.parametrize(
    ("planted", "inside"),
    [
        ("other=1; {own}", True),
        ("{own}; {own}", True),
        ("\u00a0{own}", False),
        ("\u3000{own}", False),
        ("other={own}", False),
        ("other=1,{own}", False),
        ('other="; {own}"', False),
        ("{own}; __Host-june_console=x", False),
        ("__Host-june_console=x; {own}", False),
        ('__Host-june_console="{token}"', False),
    ],
)
async def test_a_neighbouring_domain_plants_no_cookie(planted: str, inside: bool) -> None:
    """What browsers let it set, since it has another name than the pinned one, isn't taken for that."""
    async with door(public_url="https://june.example") as at, at.browser() as browser:
        person = await at.access.people.add("eve", "viewer")
        token = await at.access.sessions.begin(Held("eve", "password", person.epoch))
        held = planted.format(own=f"__Host-june_console={token}", token=token)
        shown = await browser.get("/console", Cookie=held)
        assert shown.status == (200 if inside else 303)


async def test_only_a_word_of_ours_is_handed_back() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        for kept in ("known", '"\\012Set-Cookie: x=y"', "x" * 5000, "é" * 43):
            shown = await browser.get("/console/sign-in", Cookie=f"june_console_before={kept}")
            assert shown.cookies["june_console_before"].value != kept
            assert len(shown.cookies["june_console_before"].value) == 43


async def test_another_site_signs_nobody_out() -> None:
    """Its form comes without the cookie, and an answer that drops it would still be obeyed."""
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        for headers in ({"Sec_Fetch_Site": "cross-site"}, {"Origin": "https://evil.example"}):
            refused = await browser.post("/console/sign-out", {}, **headers)
            assert (refused.status, refused.cookies) == (403, {})
        assert (await browser.post("/console/sign-out", {})).to == "/console/sign-in"


async def enter(at: Door, session: str) -> Shown:
    """Sign ada in from a browser that somebody gave a session to before."""
    async with at.browser() as browser:
        shown = await browser.get("/console/sign-in")
        before = next(iter(browser.http.cookie_jar))
        form = {"csrf": shown.field("csrf"), "name": "ada", "password": PASSWORD}
        held = f"{SESSION}={session}; {before.key}={before.value}"
        return await browser.post("/console/sign-in", form | {"code": at.code("ada")}, Cookie=held)


async def test_a_session_that_was_brought_along_is_never_signed_in() -> None:
    async with door() as at, at.browser() as eve:
        await at.user("ada")
        await at.user("eve")
        planted = new_token()
        done = await enter(at, planted)
        assert (done.status, done.cookies[SESSION].value != planted) == (303, True)
        assert (await eve.get("/console", Cookie=f"{SESSION}={planted}")).status == 303

        await at.sign_in(eve, "eve")
        assert (await eve.get("/console")).status == 200
        at.clock.tick(30)
        done = await enter(at, eve.cookie)
        assert (done.status, done.cookies[SESSION].value != eve.cookie) == (303, True)
        assert (await eve.get("/console")).status == 303, "who planted it isn't in it any more"


async def test_a_session_ends_after_an_hour_of_silence_and_after_twelve() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        await at.sign_in(browser, "ada")
        for _ in range(13):
            at.clock.tick("50m")
            assert (await browser.get("/console")).status == 200
        at.clock.tick("61m")
        assert (await browser.get("/console")).status == 303, "silent for over an hour"
        await at.sign_in(browser, "ada")
        for _ in range(14):
            at.clock.tick("50m")
            assert (await browser.get("/console")).status == 200
        at.clock.tick("21m")
        assert (await browser.get("/console")).status == 303, "twelve hours are over"


async def test_signing_out_ends_it_for_whoever_has_the_cookie() -> None:
    async with door() as at, at.browser() as browser, at.browser() as thief:
        await at.user("ada")
        await at.sign_in(browser, "ada")
        kept = browser.cookie
        assert (await browser.post("/console/sign-out", {"csrf": "x"})).status == 403
        done = await browser.post("/console/sign-out", {"csrf": await csrf_of(browser)})
        assert (done.status, done.to) == (303, "/console/sign-in")
        assert (await thief.get("/console", Cookie=f"{SESSION}={kept}")).status == 303
        assert (await browser.get("/console")).status == 303


async def _disable(at: Door) -> None:
    await changed(at.access, "ada", "disable", None)


async def _reset(at: Door) -> None:
    await changed(at.access, "ada", "reset", None)


async def _disable_and_enable(at: Door) -> None:
    await _disable(at)
    await changed(at.access, "ada", "enable", None)


@pytest.mark.parametrize("end", [_disable, _reset, _disable_and_enable])
async def test_what_a_user_has_open_ends_at_once(end: Callable[[Door], Awaitable[None]]) -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada", "admin")
        await at.sign_in(browser, "ada")
        csrf = await csrf_of(browser)
        await end(at)
        assert (await browser.get("/console")).status == 303
        assert (await browser.post("/console/act/viewer", {"csrf": csrf})).status == 303
        if end is not _disable_and_enable:
            at.clock.tick(60)
            assert (await at.sign_in(browser, "ada")).status == 403


# -- roles -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
async def test_a_role_does_what_is_its_own_and_less(role: str) -> None:
    ranks = ["viewer", "operator", "admin"]
    async with door() as at, at.browser() as browser:
        await at.user("ada", role)  # type: ignore[arg-type]  # one of three
        await at.sign_in(browser, "ada")
        form = {"csrf": await csrf_of(browser)}
        for asked in ranks:
            done = await browser.post(f"/console/act/{asked}", form)
            may = ranks.index(asked) <= ranks.index(role)
            assert (done.status == 200) is may, asked
            if may:
                assert done.text == "done by console:ada"
            else:
                assert done.status == 403
                assert f"gateway users role ada {asked}" in done.words


async def test_a_new_role_counts_from_the_next_click() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada", "admin")
        await at.sign_in(browser, "ada")
        form = {"csrf": await csrf_of(browser)}
        assert (await browser.post("/console/act/admin", form)).status == 200
        await changed(at.access, "ada", "role", "viewer")
        assert (await browser.post("/console/act/admin", form)).status == 403
        assert (await browser.get("/console")).text.startswith("console:ada viewer ")


# -- forms -----------------------------------------------------------------------------------------
async def test_a_form_needs_the_word_of_its_own_session() -> None:
    async with door() as at, at.browser() as ada, at.browser() as eve:
        await at.user("ada", "admin")
        await at.user("eve", "admin")
        await at.sign_in(ada, "ada")
        await at.sign_in(eve, "eve")
        entrance = await ada.get("/console/sign-in?next=/console")
        assert entrance.status == 303, "who is in needs no entrance"
        for csrf in (None, "", "x", await csrf_of(eve), ada.cookie, digest(ada.cookie)):
            form = {} if csrf is None else {"csrf": csrf}
            assert (await ada.post("/console/act/viewer", form)).status == 403, csrf
        own = await csrf_of(ada)
        assert (await ada.post("/console/act/viewer", {"csrf": own})).status == 200
        await ada.post("/console/sign-out", {"csrf": own})
        at.clock.tick(30)
        await at.sign_in(ada, "ada")
        assert (await ada.post("/console/act/viewer", {"csrf": own})).status == 403, "of before"


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        ({"Sec_Fetch_Site": "same-origin", "Origin": "null"}, True),
        ({"Sec_Fetch_Site": "same-origin"}, True),
        ({"Sec_Fetch_Site": "same-site"}, False),
        ({"Sec_Fetch_Site": "cross-site"}, False),
        ({"Sec_Fetch_Site": "none"}, False),
        ({"Sec_Fetch_Site": "cross-site", "Origin": "{own}"}, False),
        ({"Origin": "{own}"}, True),
        ({"Origin": "null"}, False),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "{own}.evil.example"}, False),
        ({"Origin": "http://[broken"}, False),
        ({}, True),
    ],
)
async def test_a_form_comes_from_a_page_of_ours(headers: dict[str, str], ours: bool) -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        own = {name: value.replace("{own}", at.url) for name, value in headers.items()}
        shown = await browser.get("/console/sign-in")
        form = {"csrf": shown.field("csrf"), "name": "ada", "password": "x", "code": "1"}
        refused = await browser.post("/console/sign-in", form, **own)
        assert ("That didn't match" in refused.words) is ours
        await at.sign_in(browser, "ada")
        done = await browser.post("/console/act/viewer", {"csrf": await csrf_of(browser)}, **own)
        assert done.status == (200 if ours else 403)


async def test_nobody_is_signed_in_as_somebody_else_by_a_foreign_form() -> None:
    """The entrance's forms belong to the browser that asked for them."""
    async with door() as at, at.browser() as eve, at.browser() as ada:
        await at.user("eve")
        theirs = await eve.get("/console/sign-in")
        form = {"name": "eve", "password": "four words will do", "code": at.code("eve")}
        for csrf in (theirs.field("csrf"), "", "x"):
            assert (await ada.post("/console/sign-in", form | {"csrf": csrf})).status == 403
        await ada.get("/console/sign-in")
        refused = await ada.post("/console/sign-in", form | {"csrf": theirs.field("csrf")})
        assert refused.status == 403
        assert not ada.cookie


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"csrf=a&csrf=b", "application/x-www-form-urlencoded", 400),
        (b"\xff\xfe=1", "application/x-www-form-urlencoded", 400),
        (b"name=%ff", "application/x-www-form-urlencoded", 400),
        (b"name=a%00b", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"f%d=1" % n for n in range(60)), "application/x-www-form-urlencoded", 400),
        (b"a=" + b"x" * 20_000, "application/x-www-form-urlencoded", 413),
        (b'{"csrf": "x"}', "application/json", 415),
        (b"--x\r\n", "multipart/form-data; boundary=x", 415),
        (b"", "application/x-www-form-urlencoded", 403),
    ],
)
async def test_junk_is_refused_as_such(body: bytes, kind: str, status: int) -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        async with browser.http.post(
            f"{at.url}/console/sign-in", data=body, headers={"Content-Type": kind}
        ) as response:
            assert response.status == status


# -- where to --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "asked",
    [
        "https://evil.example/console",
        "//evil.example/console",
        "/\\evil.example",
        "\\\\evil.example",
        "/console//evil.example",
        "/console/../../evil",
        "/console\r\nSet-Cookie: june_console=x",
        "/console\tx",
        "/consolevil",
        "javascript:alert(1)",
        "/message",
        "/console/sign-out",
        "/console/sign-in?next=/console/sign-in",
        "/console/" + "x" * 600,
        "/console/é",
        "",
        None,
    ],
)
async def test_nobody_is_sent_elsewhere(asked: str | None) -> None:
    assert safe_next(asked) == "/console"


async def test_who_is_let_in_goes_where_they_meant_to() -> None:
    wanted = "/console/sessions/june/slack%3AT1?before=5"
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        assert safe_next(wanted) == wanted
        shown = await browser.get("/console/sign-in", Accept="text/html")
        assert shown.field("next") == "/console"
        done = await at.sign_in(browser, "ada", next=wanted)
        assert done.to == wanted
        evil = await browser.get("/console/sign-in?next=//evil.example")
        assert evil.to == "/console"


async def test_a_program_is_told_instead_of_sent() -> None:
    async with door() as at, at.browser() as browser:
        await at.user("ada")
        assert (await browser.get("/console/home.json")).status == 401
        assert (await browser.get("/console", Accept="text/event-stream")).status == 401
        assert (await browser.get("/console")).status == 303
