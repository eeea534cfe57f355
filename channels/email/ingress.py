"""Mail by a provider's webhook: verified over the raw bytes, kept whole, and only then acknowledged.

Every provider here can send a mail as it came, and only that is taken: what a provider has read out of a mail
can be neither verified nor read again. Who sends fields alone is answered by 422 and the setting to turn on.
What can't be kept is answered by 503, and comes again.
"""

from __future__ import annotations

import base64
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from urllib.parse import quote, urlsplit

from channels.contract import HookReply, HookRequest, Route
from channels.email.mail import RawMail
from channels.email.verify import (
    Proved,
    Refused,
    basic,
    confirmation,
    mailgun,
    resend,
    sendgrid,
    sns,
    sns_certificate,
)
from channels.email.ways.forms import fields, read_json, table, text, texts
from channels.email.ways.getting import Get
from channels.email.ways.once import Once
from channels.email.ways.taking import MAX_MAIL, Take, capped
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.struct import replace, struct
from gateway.values import Secret

__all__ = ["Hooks", "Ingress"]

TEXT = {"Content-Type": "text/plain; charset=utf-8"}
MINUTE = Millis(60_000)
RESEND = "https://api.resend.com"
MOST_CERTIFICATE = 16 << 10
MOST_CERTIFICATES = 8

POSTMARK_LIMIT = 64 << 20
"""The raw mail, and all of it a second time in pieces."""
SENDGRID_LIMIT = 32 << 20
MAILGUN_LIMIT = 48 << 20
"""A form writes some bytes as three."""
EVENT_LIMIT = 512 << 10
RESEND_ANSWER = 16 << 20

log = logging.getLogger("gateway.email")


@struct(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What each provider proves itself by; one that has nothing here has no route. ``postmark`` is
    ``user:password`` of the URL, ``sendgrid`` the public key of the security policy, ``mailgun`` the webhook
    signing key, ``resend`` the ``whsec_`` secret (with the API key that fetches the mail), ``ses_topic`` the
    ARN of the SNS topic."""

    postmark: Secret | None = None
    sendgrid: Secret | None = None
    mailgun: Secret | None = None
    resend: Secret | None = None
    resend_key: Secret | None = None
    ses_topic: str | None = None


class Ingress:
    """``refused`` counts what wasn't let in, by provider and reason (``mailgun:stale``); ``problem`` says what
    is to be set right, until a mail comes through."""

    def __init__(self, hooks: Hooks, resend_api: str = RESEND) -> None:
        self.refused: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.problem: str | None = None
        self._hooks = hooks
        self._api = resend_api
        self._take: Take | None = None
        self._get: Get | None = None
        self._once: Once | None = None
        self._told: dict[str, Millis] = {}
        self._certificates: dict[str, bytes] = {}

    def begin(self, take: Take, get: Get, once: Once) -> None:
        """Before it, everything is to be sent again."""
        self._take, self._get, self._once = take, get, once

    def routes(self) -> list[Route]:
        """Mailgun sends a mail raw to an address that ends in ``mime``."""
        hooks = self._hooks
        known: list[tuple[bool, str, Callable[[HookRequest], Awaitable[HookReply]], int]] = [
            (bool(hooks.postmark), "/postmark", self._postmark, POSTMARK_LIMIT),
            (bool(hooks.sendgrid), "/sendgrid", self._sendgrid, SENDGRID_LIMIT),
            (bool(hooks.mailgun), "/mailgun/mime", self._mailgun, MAILGUN_LIMIT),
            (bool(hooks.resend and hooks.resend_key), "/resend", self._resend, EVENT_LIMIT),
            (bool(hooks.ses_topic), "/ses", self._ses, EVENT_LIMIT),
        ]
        return [
            Route(method="POST", path=path, handler=handler, body_limit=limit)
            for on, path, handler, limit in known
            if on
        ]

    # -- Postmark: JSON, with the mail in RawEmail -----------------------------------------------------
    async def _postmark(self, request: HookRequest) -> HookReply:
        proved = basic(self._hooks.postmark, request.headers.items())
        if isinstance(proved, Refused):
            return self._refuse("postmark", proved, request.at)
        found = read_json(request.body)
        if found is None:
            return self._junk("postmark", request.at)
        raw = found.get("RawEmail")
        if not isinstance(raw, str) or not raw:
            on = "turn on 'Include raw email content in JSON payload' of the inbound stream"
            return self._fields_only("Postmark", on)
        to = text(found.get("OriginalRecipient"))
        return await self._keep(
            RawMail(
                raw=raw.encode("utf-8", "replace"),
                way="webhook",
                way_id=f"postmark/{text(found.get('MessageID'))}",
                envelope_to=(to,) if to else (),
                at=request.at,
                covered=proved.covered,
            )
        )

    # -- SendGrid: a form, with the mail in `email` and the envelope as JSON ---------------------------
    async def _sendgrid(self, request: HookRequest) -> HookReply:
        body = request.body
        proved = sendgrid(self._hooks.sendgrid, request.headers.items(), body, request.at)
        if isinstance(proved, Refused):
            return self._refuse("sendgrid", proved, request.at)
        form = await fields(body, request.headers.get("content-type", ""))
        if form is None:
            return self._junk("sendgrid", request.at)
        raw = form.get("email")
        if not raw:
            on = "turn on 'POST the raw, full MIME message' of the inbound parse setting"
            return self._fields_only("SendGrid", on)
        envelope = read_json(form.get("envelope", b"")) or {}
        sender = envelope.get("from")
        return await self._keep(
            RawMail(
                raw=raw,
                way="webhook",
                envelope_from=sender if isinstance(sender, str) else None,
                envelope_to=texts(envelope.get("to")),
                at=request.at,
                covered=proved.covered,
            )
        )

    # -- Mailgun: a form that holds its own proof -------------------------------------------------------
    async def _mailgun(self, request: HookRequest) -> HookReply:
        """The form has to be taken apart for its proof; nothing else of it is looked at before."""
        form = await fields(request.body, request.headers.get("content-type", ""))
        if form is None:
            return self._junk("mailgun", request.at)
        proved = mailgun(self._hooks.mailgun, form, request.at)
        if isinstance(proved, Refused):
            return self._refuse("mailgun", proved, request.at)
        raw = form.get("body-mime")
        if not raw:
            on = "let the route forward to an address that ends in /mailgun/mime"
            return self._fields_only("Mailgun", on)
        token = form["token"].decode("latin-1")
        if (wrong := await self._spent("mailgun", token, raw, request.at)) is not None:
            return wrong
        sender, to = form.get("sender"), form.get("recipient", b"").decode("utf-8", "replace")
        return await self._keep(
            RawMail(
                raw=raw,
                way="webhook",
                way_id=f"mailgun/{token}",
                envelope_from=None if sender is None else sender.decode("utf-8", "replace"),
                envelope_to=tuple(one.strip() for one in to.split(",") if one.strip()),
                at=request.at,
                covered=proved.covered,
            )
        )

    # -- Resend: an event that names the mail, which is then fetched -----------------------------------
    async def _resend(self, request: HookRequest) -> HookReply:
        body = request.body
        proved = resend(self._hooks.resend, request.headers.items(), body, request.at)
        if isinstance(proved, Refused):
            return self._refuse("resend", proved, request.at)
        event = read_json(body)
        if event is None:
            return self._junk("resend", request.at)
        if event.get("type") != "email.received":
            return HookReply()
        data = table(event.get("data"))
        name = text(data.get("email_id"))
        if not name:
            return self._junk("resend", request.at)
        raw = await self._fetched(name)
        if raw is None:
            return _again("the mail can't be fetched now: send it again")
        return await self._keep(
            RawMail(
                raw=raw,
                way="webhook",
                way_id=f"resend/{name}",
                envelope_to=texts(data.get("to")),
                at=request.at,
                covered=proved.covered,
            )
        )

    async def _fetched(self, name: str) -> bytes | None:
        """By its id with our key, and then from the address that the answer gives, without it."""
        get, key = self._get, self._hooks.resend_key
        if get is None or key is None:
            return None
        # Pictures as `cid:` keep out of the answer what is in the mail anyway.
        url = f"{self._api}/emails/receiving/{quote(name, safe='')}?html_format=cid"
        answer = await get(url, {"Authorization": f"Bearer {key.value}"}, RESEND_ANSWER)
        if answer.status != 200:
            self._trouble(
                f"Resend doesn't give a mail out (status {answer.status}); check its API key"
            )
            return None
        raw = table((read_json(answer.body) or {}).get("raw"))
        link = text(raw.get("download_url"), 4096)
        if not self._may_fetch(link):
            self._trouble("Resend's answer has no address of the raw mail")
            return None
        mail = await get(link, {}, MAX_MAIL)
        if mail.status != 200:
            self._trouble(f"a mail at Resend can't be fetched (status {mail.status})")
            return None
        return mail.body

    def _may_fetch(self, link: str) -> bool:
        try:
            parts = urlsplit(link)
        except ValueError:
            return False
        named = bool(parts.hostname) and parts.username is None
        return named and (parts.scheme == "https" or link.startswith(f"{self._api}/"))

    # -- Amazon SES, by a topic of SNS -----------------------------------------------------------------
    async def _ses(self, request: HookRequest) -> HookReply:
        message = read_json(request.body)
        if message is None:
            return self._junk("ses", request.at)
        proved = await self._signed(message, request)
        if isinstance(proved, HookReply):
            return proved
        kind = message["Type"]
        if kind == "SubscriptionConfirmation":
            return await self._confirm(message)
        if kind != "Notification":
            self._trouble(
                "the topic of SES doesn't send here any more; subscribe this address again"
            )
            return HookReply()
        notice = read_json(text(message.get("Message"), EVENT_LIMIT)) or {}
        if notice.get("notificationType") != "Received":
            return HookReply()
        receipt, mail = table(notice.get("receipt")), table(notice.get("mail"))
        raw = _content(notice, table(receipt.get("action")).get("encoding"))
        if raw is None:
            on = "give the receipt rule an SNS action, encoding Base64: S3 alone holds no mail for us"
            return self._fields_only("Amazon SES", on)
        sender = mail.get("source")
        return await self._keep(
            RawMail(
                raw=raw,
                way="webhook",
                way_id=f"ses/{text(message.get('MessageId'))}",
                envelope_from=sender if isinstance(sender, str) else None,
                envelope_to=texts(receipt.get("recipients")),
                at=request.at,
                covered=proved.covered,
            )
        )

    async def _signed(self, message: JsonObject, request: HookRequest) -> Proved | HookReply:
        """A certificate is remembered once it has vouched for a message of our topic."""
        if self._get is None:
            return _again("the channel hasn't started yet: send it again")
        url = sns_certificate(self._hooks.ses_topic, request.headers.items(), message)
        if isinstance(url, Refused):
            return self._refuse("ses", url, request.at)
        certificate = self._certificates.get(url)
        if certificate is None:
            got = await self._get(url, {}, MOST_CERTIFICATE)
            if got.status != 200 or len(got.body) > MOST_CERTIFICATE:
                self._trouble(f"the certificate of SNS can't be fetched (status {got.status})")
                return _again("the certificate can't be fetched now: send it again")
            certificate = got.body
        proved = sns(message, certificate, request.at)
        if isinstance(proved, Refused):
            return self._refuse("ses", proved, request.at)
        if len(self._certificates) >= MOST_CERTIFICATES:
            self._certificates.clear()
        self._certificates[url] = certificate
        return proved

    async def _confirm(self, message: JsonObject) -> HookReply:
        url = confirmation(message, self._hooks.ses_topic or "")
        got = None if url is None or self._get is None else await self._get(url, {}, EVENT_LIMIT)
        if got is None or got.status != 200:
            self._trouble("the subscription to the topic of SES couldn't be confirmed")
            return _again("it couldn't be confirmed now: send it again")
        log.info("email: the subscription to %s is confirmed", self._hooks.ses_topic)
        return HookReply()

    # -- what they share ---------------------------------------------------------------------------------
    async def _spent(self, provider: str, token: str, raw: bytes, at: Millis) -> HookReply | None:
        """The refusal of a proof that another mail came with."""
        if self._once is None:
            return _again("the channel hasn't started yet: send it again")
        try:
            if await self._once(f"{provider}/{token}", raw):
                return None
        except StoreUnavailableError:
            return _again("this can't be stored now: send it again")
        why = "its token was used for another mail"
        return self._refuse(provider, Refused(reason="replayed", why=why), at)

    async def _keep(self, mail: RawMail) -> HookReply:
        if self._take is None:
            return _again("the channel hasn't started yet: send it again")
        raw, whole = capped(mail.raw)
        if whole is not None:
            mail = replace(mail, raw=raw, whole=whole)
        try:
            taken = await self._take(mail)
        except StoreUnavailableError:
            taken = "again"
        self.counted[taken] += 1
        if taken == "again":
            log.warning("email: a mail can't be stored now, its provider is to send it again")
            return _again("this can't be stored now: send it again")
        self.problem = None
        return HookReply()

    def _refuse(self, provider: str, refused: Refused, at: Millis) -> HookReply:
        self._count(provider, refused.reason, at, refused.why)
        return HookReply(refused.status, refused.why.encode(), TEXT)

    def _junk(self, provider: str, at: Millis) -> HookReply:
        why = "the body isn't what the provider sends"
        self._count(provider, "junk", at, why)
        return HookReply(400, why.encode(), TEXT)

    def _count(self, provider: str, reason: str, at: Millis, why: str) -> None:
        """Told once a minute, and nothing of it is kept."""
        key = f"{provider}:{reason}"
        self.refused[key] += 1
        if at - self._told.get(key, at - MINUTE) >= MINUTE:
            self._told[key] = at
            log.warning("email: %s refused (%s so far): %s", key, self.refused[key], why)

    def _fields_only(self, provider: str, on: str) -> HookReply:
        self._trouble(f"{provider} sends what it read out of a mail, and not the mail: {on}")
        return HookReply(422, f"the mail itself isn't in it: {on}".encode(), TEXT)

    def _trouble(self, words: str) -> None:
        if self.problem != words:
            log.warning("email: %s", words)
        self.problem = words


def _again(why: str) -> HookReply:
    return HookReply(503, why.encode(), TEXT)


def _content(notice: JsonObject, encoding: object) -> bytes | None:
    """The mail in a notice of SES; without an SNS action there is none."""
    content = notice.get("content")
    if not isinstance(content, str) or not content:
        return None
    if str(encoding).upper() != "BASE64":
        return content.encode("utf-8", "replace")
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except ValueError:
        return None
