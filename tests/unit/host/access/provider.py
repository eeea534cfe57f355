"""An OpenID provider on loopback, with keys of its own: discovery, keys, code flow with PKCE. What a
test sets on it is what it does wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import BasicAuth, web
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from gateway.testing.time import FakeClock
from tests.support.http import on_socket

CLIENT, SECRET = "june:gateway", "a client's secret/+"


@dataclass
class FakeProvider:
    clock: FakeClock
    url: str = ""
    person: dict[str, Any] = field(
        default_factory=lambda: {
            "sub": "u-1",
            "email": "Ada@shop.example",
            "email_verified": True,
            "groups": ["staff", "support"],
        }
    )
    keys: list[RSAKey] = field(default_factory=lambda: [RSAKey.generate_key(2048)])
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the token says instead; ``None`` leaves a claim out."""
    sign: Callable[[FakeProvider, dict[str, Any]], str] | None = None
    document: dict[str, Any] = field(default_factory=dict[str, Any])
    others: list[object] = field(default_factory=list[object])
    """What stands beside its keys."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    asked: list[str] = field(default_factory=list[str])
    """The paths that were asked for, one after the other."""

    async def discovery(self, _: web.Request) -> web.Response:
        told = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize?tenant=shop",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }
        return web.json_response(told | self.document)

    async def jwks(self, _: web.Request) -> web.Response:
        ours = KeySet([*self.keys]).as_dict(private=False)["keys"]
        return web.json_response({"keys": [*self.others, *ours]})

    async def authorize(self, request: web.Request) -> web.Response:
        """Everybody is signed in here already, so it sends them straight back."""
        asked = request.query
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        assert asked["tenant"] == "shop"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(8)
        self.codes[code] = dict(asked)
        back = urlencode({"code": code, "state": asked["state"], "iss": self.url})
        raise web.HTTPFound(f"{asked['redirect_uri']}?{back}")

    async def token(self, request: web.Request) -> web.Response:
        form = await request.post()
        auth = BasicAuth.decode(request.headers["Authorization"])
        held = self.codes.pop(str(form["code"]), None)
        verifier = str(form["code_verifier"]).encode()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier).digest()).rstrip(b"=")
        right = held is not None and (
            (auth.login, auth.password) == ("june%3Agateway", "a%20client%27s%20secret%2F%2B")
            and held["redirect_uri"] == form["redirect_uri"]
            and held["code_challenge"] == challenge.decode()
        )
        if not right or held is None:
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = self.clock.now() // 1000
        fixed = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300}
        claims = fixed | {"nonce": held["nonce"]} | self.person | self.claims
        kept = {name: value for name, value in claims.items() if value is not None}
        signed = (self.sign or signed_rightly)(self, kept)
        return web.json_response({"id_token": signed, "access_token": "x", "token_type": "Bearer"})


def signed_rightly(provider: FakeProvider, claims: dict[str, Any]) -> str:
    key = provider.keys[-1]
    key.ensure_kid()
    return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


def unsigned(_: FakeProvider, claims: dict[str, Any]) -> str:
    return f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(claims)}."


def signed_with_the_public_key(provider: FakeProvider, claims: dict[str, Any]) -> str:
    """The oldest trick: a shared secret that everybody can read."""
    key = provider.keys[-1]
    body = f"{_part({'alg': 'HS256', 'kid': key.kid})}.{_part(claims)}"
    mac = hmac.new(key.as_pem(private=False), body.encode(), hashlib.sha256).digest()
    return f"{body}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def _part(what: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(what).encode()).rstrip(b"=").decode()


def signed_by_another(provider: FakeProvider, claims: dict[str, Any]) -> str:
    stranger = RSAKey.generate_key(2048)
    return jwt.encode({"alg": "RS256", "kid": provider.keys[-1].kid}, claims, stranger)


def signed_by_an_unknown(_: FakeProvider, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "never-heard"}, claims, RSAKey.generate_key(2048))


def changed_after_it_was_signed(provider: FakeProvider, claims: dict[str, Any]) -> str:
    head, _, signature = signed_rightly(provider, claims).split(".")
    claims |= {"groups": ["leads"]}
    return f"{head}.{_part(claims)}.{signature}"


@asynccontextmanager
async def openid(clock: FakeClock) -> AsyncGenerator[FakeProvider, None]:
    provider = FakeProvider(clock)
    app = web.Application()

    async def noted(request: web.Request, handler: Any) -> web.StreamResponse:
        provider.asked.append(request.path)
        found: web.StreamResponse = await handler(request)
        return found

    app.middlewares.append(web.middleware(noted))
    app.router.add_get("/.well-known/openid-configuration", provider.discovery)
    app.router.add_get("/keys", provider.jwks)
    app.router.add_get("/authorize", provider.authorize)
    app.router.add_post("/token", provider.token)
    async with on_socket(app) as url:
        provider.url = url
        yield provider
