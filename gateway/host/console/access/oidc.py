"""Signing in through an OpenID provider: the code flow with PKCE, and the checks of its token.

What the browser brings back proves nothing by itself. The provider is asked over TLS with our own
secret, and what it answers is signed by one of its keys, for us, for this very attempt, and fresh.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
from cryptography.exceptions import UnsupportedAlgorithm
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, KeySet

from gateway.engine.errors import GatewayError, RequestError
from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.limits import Clock
from gateway.host.console.access.people import LOCAL_USER, NAME
from gateway.host.console.access.visitor import ROLES, Role, role_from
from gateway.values import is_loopback

ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "Ed25519",
    "EdDSA",
)
"""Signatures by a key that we don't hold. One by a shared secret, or none, is none."""
SECONDS = 10.0
ANSWER_BYTES = 1_000_000
FRESH = Millis(3_600_000)
"""How long what the provider says of itself is believed before it is asked again."""
KEYS_AGAIN = Millis(60_000)
"""How soon its keys are asked for again, when a token names one that wasn't among them."""
LEEWAY = 60
"""Seconds that its clock may be off."""
_UNUSABLE = (JoseError, UnsupportedAlgorithm, ValueError, TypeError, KeyError, AttributeError)
"""What reading a key raises that is of no kind, of no curve or in no shape that we know."""


class NotLetInError(RequestError):
    """The provider, or what it says of somebody, doesn't let them in."""

    status = 403
    code = "forbidden"


class ProviderError(GatewayError):
    """The provider can't be reached, or makes no sense."""

    status = 503
    code = "oidc_provider"


@dataclass(frozen=True, slots=True)
class Vouched:
    """Whom the provider vouches for."""

    name: str
    role: Role


@dataclass(slots=True)
class _Known:
    """What the provider says of itself, and when that was heard."""

    at: Millis
    document: Mapping[str, Json]
    keys: KeySet
    keys_at: Millis


@dataclass(kw_only=True)
class Provider:
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    roles: tuple[str, ...]
    clock: Clock
    name_claim: str = "email"
    role_claim: str = "groups"
    _known: _Known | None = None

    @property
    def host(self) -> str:
        """What people know it by."""
        return urlsplit(self.issuer).netloc

    async def begin(self, back: str, *, state: str, nonce: str, verifier: str) -> str:
        """Where the browser is sent. ``back`` is where it comes back to."""
        challenge = hashlib.sha256(verifier.encode("ascii")).digest()
        scopes = "openid email profile"
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": back,
            "scope": scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode("ascii"),
            "code_challenge_method": "S256",
        }
        endpoint = await self._endpoint("authorization_endpoint")
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    async def finish(self, code: str, back: str, *, nonce: str, verifier: str) -> Vouched:
        """Who came back. Raises ``NotLetInError``, ``ProviderError``."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier,
        }
        answer = await self._ask(await self._endpoint("token_endpoint"), form)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise NotLetInError("the provider gave no ID token", fix="sign in again")
        return self._vouched(await self._claims(token, nonce))

    # -- the token -----------------------------------------------------------------------------
    async def _claims(self, token: str, nonce: str) -> Mapping[str, object]:
        known = await self._provider()
        try:
            try:
                read = jwt.decode(token, known.keys, algorithms=ALGORITHMS)
            except InvalidKeyIdError:
                # It may have changed its keys since.
                read = jwt.decode(token, await self._newer_keys(known), algorithms=ALGORITHMS)
            registry = jwt.JWTClaimsRegistry(
                now=self.clock.now() // 1000,
                leeway=LEEWAY,
                iss={"essential": True, "value": self.issuer},
                aud={"essential": True, "value": self.client_id},
                sub={"essential": True},
                exp={"essential": True},
                iat={"essential": True},
                nonce={"essential": True, "value": nonce},
            )
            registry.validate(read.claims)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise NotLetInError(
                f"the provider's token can't be trusted: {type(error).__name__}",
                fix="sign in again; if it stays, check GATEWAY_OIDC_ISSUER, GATEWAY_OIDC_CLIENT_ID"
                " and this machine's clock",
            ) from error
        claims = cast("dict[str, object]", read.claims)
        alone = claims["aud"] in (self.client_id, [self.client_id])
        if claims.get("azp", self.client_id if alone else None) != self.client_id:
            raise NotLetInError("the provider's token was made for somebody else")
        return claims

    def _vouched(self, claims: Mapping[str, object]) -> Vouched:
        told = claims.get(self.name_claim)
        # Letters of other scripts have lower case in ours: a Kelvin sign would become somebody's k.
        name = told.lower() if isinstance(told, str) and told.isascii() else ""
        if self.name_claim == "email" and claims.get("email_verified") is not True:
            raise NotLetInError(
                "the provider doesn't say that this address is verified",
                fix="verify it there, or name another claim in GATEWAY_OIDC_NAME_CLAIM",
            )
        if not NAME.fullmatch(name) or name == LOCAL_USER:
            raise NotLetInError(
                f"the claim {self.name_claim!r} holds no name that can be used",
                fix="name another claim in GATEWAY_OIDC_NAME_CLAIM",
            )
        held = claims.get(self.role_claim)
        values = {"*", *map(str, cast("list[object]", held if isinstance(held, list) else [held]))}
        given = [text for value, _, text in map(_pair, self.roles) if value in values]
        roles: list[Role] = [role for role in map(role_from, given) if role is not None]
        if not roles:
            raise NotLetInError(
                f"{name} has no role here: nothing in the claim {self.role_claim!r} gives one",
                fix="add them to a group that GATEWAY_OIDC_ROLES names",
            )
        return Vouched(name, max(roles, key=ROLES.index))

    # -- the provider --------------------------------------------------------------------------
    async def _endpoint(self, name: str) -> str:
        return _address((await self._provider()).document, name)

    async def _provider(self) -> _Known:
        now = self.clock.now()
        if self._known is None or now - self._known.at > FRESH:
            document = await self._ask(
                f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            )
            if document.get("issuer") != self.issuer:
                raise ProviderError(
                    "the provider calls itself by another name",
                    fix=f"set GATEWAY_OIDC_ISSUER to {document.get('issuer')!r} if that is yours",
                )
            keys = await self._keys(document)
            self._known = _Known(now, document, keys, now)
        return self._known

    async def _newer_keys(self, known: _Known) -> KeySet:
        """Its keys of now, unless they were asked for just before: a stranger's token must not make
        us ask each time."""
        now = self.clock.now()
        if now - known.keys_at >= KEYS_AGAIN:
            known.keys = await self._keys(known.document)
            known.keys_at = now
        return known.keys

    async def _keys(self, document: Mapping[str, Json]) -> KeySet:
        """Those of its keys that we can use: what it publishes for others is no business of ours
        (RFC 7517, section 5)."""
        found = (await self._ask(_address(document, "jwks_uri"))).get("keys")
        keys: list[Any] = []
        for one in found if isinstance(found, list) else []:
            with suppress(*_UNUSABLE):
                keys.append(JWKRegistry.import_key(cast("Any", one)))
        if not keys:
            raise ProviderError("the provider publishes no key that can be used here")
        return KeySet(keys)

    async def _ask(self, url: str, form: Mapping[str, str] | None = None) -> JsonObject:
        """JSON from the provider; with a form, as ourselves."""
        headers = {"Accept": "application/json"}
        if form is not None:
            # By header, as every provider must allow (RFC 6749, 2.3.1).
            pair = f"{quote(self.client_id, safe='')}:{quote(self.client_secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as http,
                http.request(
                    "GET" if form is None else "POST",
                    url,
                    data=form,
                    headers=headers,
                    allow_redirects=False,
                ) as response,
            ):
                status, raw = response.status, b""
                while len(raw) < ANSWER_BYTES and (more := await response.content.readany()):
                    raw += more
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ProviderError(
                f"the OpenID provider at {self.host} can't be reached ({type(error).__name__})",
                fix="try again; if it stays, check GATEWAY_OIDC_ISSUER and this host's network",
            ) from error
        if form is not None and status in {400, 401}:
            raise NotLetInError(
                "the provider didn't take what the browser brought back",
                fix="sign in again; if it stays, check GATEWAY_OIDC_CLIENT_SECRET",
            )
        try:
            found = cast("Json", json.loads(raw)) if status == 200 else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ProviderError(
                f"the OpenID provider at {self.host} answered {status}, and nothing of use",
                fix="check GATEWAY_OIDC_ISSUER",
            )
        return found


def _pair(text: str) -> tuple[str, str, str]:
    return text.rpartition("=")


def _address(document: Mapping[str, Json], name: str) -> str:
    """One of its addresses. Codes and secrets travel there, so only over TLS, or inside this machine."""
    found = document.get(name)
    parts = urlsplit(found) if isinstance(found, str) else None
    if (
        not isinstance(found, str)
        or parts is None
        or not (
            parts.scheme == "https"
            or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
        )
    ):
        raise ProviderError(f"the provider names no {name} that can be used")
    return found
