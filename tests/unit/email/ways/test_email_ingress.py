"""A provider's webhook hands over the mail as it came, or is told what to turn on."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest
from aiohttp import web

from channels.contract import HookReply
from channels.email.ingress import Hooks, Ingress
from channels.email.mail import RawMail
from channels.email.ways.forms import fields
from channels.email.ways.getting import Got, getter
from channels.email.ways.once import Once, once
from channels.email.ways.taking import MAX_MAIL, capped
from gateway.engine.kinds import JsonObject
from gateway.engine.limits import SYSTEM_CLOCK, SYSTEM_WAITS
from gateway.stores import open_store
from gateway.values import Secret
from tests.unit.email.ways import providers as p
from tests.unit.email.ways.taker import Taker

ALL = Hooks(
    postmark=p.POSTMARK,
    sendgrid=p.SENDGRID,
    mailgun=p.MAILGUN,
    resend=p.RESEND,
    resend_key=Secret("re_made_up"),
    ses_topic=p.TOPIC,
)
ENVELOPE = json.dumps({"from": "b@example.com", "to": ["support@shop.example"]}).encode()


class World:
    """The addresses that can be asked, and what was."""

    def __init__(self, pages: Mapping[str, Got] | None = None) -> None:
        self.pages: dict[str, Got] = {p.CERTIFICATE_URL: Got(200, p.certificate()), **(pages or {})}
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    async def get(self, url: str, headers: Mapping[str, str], most: int) -> Got:
        self.asked.append((url, headers))
        found = self.pages.get(url, Got(0))
        return Got(found.status, found.body[: most + 1])


async def send(ingress: Ingress, path: str, headers: Mapping[str, str], body: bytes) -> HookReply:
    (route,) = (route for route in ingress.routes() if route.path == path)
    assert len(body) <= route.body_limit
    return await route.handler(p.request(path, headers, body))


async def any_mail(proof: str, raw: bytes) -> bool:
    """As it is in a store that has seen nothing."""
    return True


def started(
    take: Taker, world: World | None = None, hooks: Hooks = ALL, once: Once = any_mail
) -> Ingress:
    ingress = Ingress(hooks)
    ingress.begin(take, (world or World()).get, once)
    return ingress


def ses(content: str | None, **more: object) -> JsonObject:
    notice: dict[str, object] = {
        "notificationType": "Received",
        "mail": {"source": "b@example.com", "messageId": "m"},
        "receipt": {
            "recipients": ["support@shop.example"],
            "action": {"type": "SNS", "encoding": "BASE64"},
        },
    } | more
    return p.sns(Message=json.dumps(notice | ({} if content is None else {"content": content})))


def sent(provider: str) -> tuple[str, Mapping[str, str], bytes]:
    """A mail by each of them."""
    mailgun = {**p.mailgun(), "body-mime": p.RAW, "sender": b"b@example.com"}
    mailgun["recipient"] = b"support@shop.example, sales@shop.example"
    if provider == "postmark":
        return "/postmark", *p.postmark(RawEmail=p.RAW.decode("latin-1"))
    if provider == "sendgrid":
        return "/sendgrid", *p.sendgrid({"envelope": ENVELOPE, "email": p.RAW})
    if provider == "ses":
        message = ses(base64.b64encode(p.RAW).decode())
        return "/ses", p.sns_headers(message), json.dumps(message).encode()
    kind, body = p.urlencoded(mailgun) if provider == "mailgun" else p.form(mailgun)
    return "/mailgun/mime", {"content-type": kind}, body


@pytest.mark.parametrize(
    ("provider", "way_id", "sender", "to", "covered"),
    [
        ("sendgrid", "", "b@example.com", 1, True),
        ("mailgun", f"mailgun/{p.TOKEN}", "b@example.com", 2, False),
        ("mailgun, in parts", f"mailgun/{p.TOKEN}", "b@example.com", 2, False),
        ("ses", "ses/n-1", "b@example.com", 1, True),
    ],
)
async def test_the_mail_is_taken_byte_by_byte(
    provider: str, way_id: str, sender: str, to: int, covered: bool
) -> None:
    take = Taker()
    reply = await send(started(take), *sent(provider))
    assert reply.status == 200
    assert take.mails == [
        RawMail(
            raw=p.RAW,
            way="webhook",
            way_id=way_id,
            envelope_from=sender,
            envelope_to=("support@shop.example", "sales@shop.example")[:to],
            at=p.NOW,
            covered=covered,
        )
    ]


async def test_postmark_sends_text() -> None:
    take = Taker()
    assert (await send(started(take), *sent("postmark"))).status == 200
    (mail,) = take.mails
    assert mail.raw == p.RAW.decode("latin-1").encode()
    assert (mail.envelope_from, mail.envelope_to) == (None, ("support+x@shop.example",))
    assert (mail.way_id, mail.covered) == ("postmark/p-1", False)


@pytest.mark.parametrize("provider", ["postmark", "sendgrid", "mailgun", "ses"])
async def test_what_cant_be_kept_comes_again(provider: str) -> None:
    take = Taker(lambda _name, _times: "again")
    path, headers, body = sent(provider)
    assert (await send(started(take), path, headers, body)).status == 503
    take.away = True
    assert (await send(started(take), path, headers, body)).status == 503
    assert (await send(Ingress(ALL), path, headers, body)).status == 503
    odd = Taker(lambda _name, _times: "quarantine")
    assert (await send(started(odd), path, headers, body)).status == 200


@pytest.mark.parametrize(
    ("path", "signed", "words"),
    [
        ("/postmark", p.postmark(TextBody="hello"), "Include raw email content"),
        ("/sendgrid", p.sendgrid({"text": b"hello"}), "POST the raw, full MIME message"),
        ("/mailgun/mime", None, "/mailgun/mime"),
        ("/ses", None, "SNS action"),
    ],
)
async def test_fields_alone_are_no_mail(
    path: str, signed: tuple[dict[str, str], bytes] | None, words: str
) -> None:
    take = Taker()
    ingress = started(take)
    if path == "/ses":
        message = ses(None)
        signed = p.sns_headers(message), json.dumps(message).encode()
    elif signed is None:
        kind, body = p.form({**p.mailgun(), "body-plain": b"hello"})
        signed = {"content-type": kind}, body
    reply = await send(ingress, path, *signed)
    assert reply.status == 422
    assert words in reply.body.decode()
    assert words in (ingress.problem or "")
    assert take.mails == []
    await send(ingress, *sent("sendgrid"))
    assert ingress.problem is None


@pytest.mark.parametrize("provider", ["postmark", "sendgrid", "mailgun", "ses"])
async def test_whoever_isnt_let_in_learns_so_and_is_counted(provider: str) -> None:
    take = Taker()
    ingress = started(take)
    path, headers, body = sent(provider)
    if provider == "postmark":
        headers = {"authorization": "Basic " + base64.b64encode(b"hook:guess").decode()}
    body = body.replace(b"timestamp=1", b"timestamp=2").replace(b"example", b"exampel")
    reply = await send(ingress, path, headers, body)
    assert reply.status == 401
    assert take.mails == []
    assert sum(ingress.refused.values()) == 1


async def test_a_proof_that_covers_no_mail_is_good_for_one() -> None:
    """Whatever became of that one: it may have been refused, or not answered."""
    store, take = open_store("memory://"), Taker(lambda _name, _times: "quarantine")
    await store.open()
    ingress = started(take, once=once(store.ledger, SYSTEM_CLOCK))
    for raw, status in ((p.RAW, 200), (p.RAW, 200), (b"Subject: two\r\n\r\n", 401), (p.RAW, 200)):
        kind, body = p.form({**p.mailgun(), "body-mime": raw})
        reply = await send(ingress, "/mailgun/mime", {"content-type": kind}, body)
        assert reply.status == status
    assert ingress.refused == {"mailgun:replayed": 1}
    assert {one.raw for one in take.mails} == {p.RAW}
    await store.close()


async def test_only_providers_with_a_secret_have_a_route() -> None:
    assert Ingress(Hooks()).routes() == []
    assert Ingress(Hooks(resend=p.RESEND)).routes() == []
    paths = [route.path for route in Ingress(ALL).routes()]
    assert paths == ["/postmark", "/sendgrid", "/mailgun/mime", "/resend", "/ses"]


JUNK = (b"", b"[]", b"\xff", b"[" * 100_000, b'{"a":' * 50_000, b"1" * 9_000)


async def test_junk_is_a_refusal() -> None:
    for body in JUNK:
        headers, _ = p.postmark()
        assert (await send(started(Taker()), "/postmark", headers, body)).status == 400
        assert (await send(started(Taker()), "/ses", {}, body)).status == 400


# -- Resend ----------------------------------------------------------------------------------------------
EVENT: JsonObject = {
    "type": "email.received",
    "data": {"email_id": "e/1", "to": ["support@shop.example"], "from": "x@example.com"},
}
MAIL_URL = "https://api.resend.com/emails/receiving/e%2F1?html_format=cid"
RAW_URL = "https://raw.example/e1?signature=s"


def resend_world(raw: bytes = p.RAW, link: str = RAW_URL) -> World:
    answer = json.dumps({"raw": {"download_url": link}}).encode()
    return World({MAIL_URL: Got(200, answer), link: Got(200, raw)})


async def test_resend_names_a_mail_and_it_is_fetched() -> None:
    take, world = Taker(), resend_world()
    assert (await send(started(take, world), "/resend", *p.resend(EVENT))).status == 200
    (mail,) = take.mails
    assert (mail.raw, mail.way_id, mail.covered) == (p.RAW, "resend/e/1", True)
    assert mail.envelope_to == ("support@shop.example",)
    assert world.asked == [(MAIL_URL, {"Authorization": "Bearer re_made_up"}), (RAW_URL, {})]


@pytest.mark.parametrize(
    "world",
    [
        World(),
        World({MAIL_URL: Got(401, b"{}")}),
        World({MAIL_URL: Got(200, b'{"raw": null}')}),
        resend_world(link="http://169.254.169.254/latest"),
        resend_world(link="https://user:pass@raw.example/"),
        World({MAIL_URL: resend_world().pages[MAIL_URL]}),
    ],
)
async def test_a_mail_that_cant_be_fetched_comes_again(world: World) -> None:
    take = Taker()
    ingress = started(take, world)
    assert (await send(ingress, "/resend", *p.resend(EVENT))).status == 503
    assert take.mails == []
    assert ingress.problem is not None
    assert all(not url.startswith("http:") for url, _ in world.asked)


async def test_other_events_of_resend_are_none_of_ours() -> None:
    take = Taker()
    reply = await send(started(take), "/resend", *p.resend({"type": "email.delivered"}))
    assert (reply.status, take.mails) == (200, [])


# -- Amazon ----------------------------------------------------------------------------------------------
async def test_the_certificate_is_fetched_once_and_only_for_our_topic() -> None:
    take, world = Taker(), World()
    ingress = started(take, world)
    foreign = p.sns(TopicArn="arn:aws:sns:eu-west-1:123456789012:other")
    reply = await send(ingress, "/ses", p.sns_headers(foreign), json.dumps(foreign).encode())
    assert (reply.status, world.asked) == (401, [])
    for _ in range(3):
        assert (await send(ingress, *sent("ses"))).status == 200
    assert [url for url, _ in world.asked] == [p.CERTIFICATE_URL]


@pytest.mark.parametrize("page", [Got(0), Got(404), Got(200, b"x" * 20_000)])
async def test_without_its_certificate_a_message_comes_again(page: Got) -> None:
    ingress = started(Taker(), World({p.CERTIFICATE_URL: page}))
    assert (await send(ingress, *sent("ses"))).status == 503


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription", 200),
        ("https://evil.example/?Action=ConfirmSubscription", 503),
    ],
)
async def test_a_subscription_is_confirmed_at_sns_alone(url: str, status: int) -> None:
    world = World({url: Got(200)})
    message = p.sns(Type="SubscriptionConfirmation", Token="t", SubscribeURL=url)
    ingress = started(Taker(), world)
    reply = await send(ingress, "/ses", p.sns_headers(message), json.dumps(message).encode())
    assert reply.status == status
    asked = [url for url, _ in world.asked]
    assert asked == [p.CERTIFICATE_URL, url][: 2 if status == 200 else 1]


# -- bodies ----------------------------------------------------------------------------------------------
async def test_a_form_is_read_to_the_byte() -> None:
    kind, body = p.form({"a": p.RAW, "b": b"", "c": b"\r\n--xYzZ\r\n"})
    assert await fields(body, kind) == {"a": p.RAW, "b": b"", "c": b"\r\n--xYzZ\r\n"}
    kind, body = p.urlencoded({"a": p.RAW, "b c": b""})
    assert await fields(body, kind) == {"a": p.RAW, "b c": b""}


NO_FORMS = (
    ("", b"a=1"),
    ("application/json", b"{}"),
    ("multipart/form-data", b"--x\r\n"),
    ("multipart/form-data; boundary=x", b"preamble\r\n--x\r\n"),
    ("multipart/form-data; boundary=x", b"--x\r\nno colon\r\n\r\nv\r\n--x--\r\n"),
    ("multipart/form-data; boundary=x", b"--x\r\nA: b\r\n\r\nnever ended"),
    ("multipart/form-data; boundary=" + "x" * 80, b"--" + b"x" * 80 + b"\r\n"),
    ("multipart/form-data; boundary=x", b"--x\r\nA: b\r\n\r\nv\r\n" * 501 + b"--x--\r\n"),
    (
        "multipart/form-data; boundary=x",
        b"--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y--\r\n--x--\r\n",
    ),
    ("application/x-www-form-urlencoded", b"a&" * 500),
)


async def test_what_is_no_form_is_none() -> None:
    for kind, body in NO_FORMS:
        assert await fields(body, kind) is None, (kind, body[:80])


async def test_a_field_that_came_twice_says_nothing() -> None:
    assert await fields(b"a=1&b=2&a=3", "application/x-www-form-urlencoded") == {"b": b"2"}


def test_of_too_long_a_mail_the_header_is_left() -> None:
    for end in (b"\r\n\r\n", b"\n\n", b""):
        head = b"Subject: long" + end
        assert capped(head + b"x" * 100) == (head + b"x" * 100, None)
        raw, whole = capped(head + b"x" * MAX_MAIL)
        assert whole == len(head) + MAX_MAIL
        assert raw == head if end else len(raw) == 256 << 10


# -- fetching --------------------------------------------------------------------------------------------
@pytest.fixture
async def site() -> AsyncIterator[str]:
    async def page(asked: web.Request) -> web.Response:
        if asked.path == "/away":
            return web.Response(status=302, headers={"Location": "/big"})
        return web.Response(body=b"x" * 200_000)

    app = web.Application()
    app.router.add_get("/{any}", page)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_fetching_is_bounded_and_follows_nobody(site: str) -> None:
    async with aiohttp.ClientSession() as session:
        get = getter(session, SYSTEM_WAITS, 5)
        assert len((await get(f"{site}/big", {}, 70_000)).body) == 70_001
        assert len((await get(f"{site}/big", {}, 300_000)).body) == 200_000
        assert (await get(f"{site}/away", {}, 10)).status == 302
        assert (await get("http://127.0.0.1:1/", {}, 10)).status == 0
        assert (await get("not a url", {}, 10)).status == 0
