"""Users, managed by the CLI through the host that holds the store."""

from __future__ import annotations

from typing import Any, cast

import aiohttp
import pytest

from gateway.values import ApiToken, Secret
from tests.unit.host.access.door import Door, door

OWN = ApiToken("cli", Secret("the cli's own token"), identities=("cli:",), proves=True)
FULL = ApiToken("full", Secret("the full token"))


async def ask(
    at: Door, method: str, path: str, body: object = None, token: str = OWN.secret.value
) -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, at.url + path, json=body, headers=headers) as response,
    ):
        return response.status, cast("dict[str, Any]", await response.json(content_type=None))


async def test_a_user_from_invited_to_disabled() -> None:
    async with door(tokens=(OWN, FULL)) as at, at.browser() as browser:
        status, added = await ask(at, "POST", "/console/users/ada", {"do": "add", "role": "viewer"})
        assert (status, added["state"], added["identity"]) == (200, "invited", "console:ada")
        await at.set_up(browser, added["link"], "ada")
        _, told = await ask(at, "GET", "/console/users")
        assert [(row["name"], row["state"]) for row in told["users"]] == [("ada", "active")]
        _, changed = await ask(at, "POST", "/console/users/ada", {"do": "role", "role": "admin"})
        assert (changed["role"], changed["link"]) == ("admin", None)
        assert (await browser.get("/console")).text.startswith("console:ada admin ")
        await ask(at, "POST", "/console/users/ada", {"do": "disable"})
        assert (await browser.get("/console")).status == 303
        _, again = await ask(at, "POST", "/console/users/ada", {"do": "enable"})
        assert again["state"] == "active"
        _, anew = await ask(at, "POST", "/console/users/ada", {"do": "reset"})
        assert (anew["state"], anew["recovery_codes"]) == ("invited", 0)
        assert anew["link"].startswith("/console/set-up?once=")


@pytest.mark.parametrize("token", ["", "wrong", "the full token"])
async def test_no_other_token_makes_a_user(token: str) -> None:
    """Whoever speaks for people by a token must not be able to become one."""
    async with door(tokens=(OWN, FULL)) as at:
        expected = 403 if token == "the full token" else 401
        made = await ask(at, "POST", "/console/users/ada", {"do": "add", "role": "admin"}, token)
        assert made[0] == expected
        assert (await ask(at, "GET", "/console/users", token=token))[0] == expected
        assert not await at.access.people.any()


@pytest.mark.parametrize("local", [True, False])
async def test_a_new_link_into_dev_is_for_who_runs_it_and_for_dev_alone(local: bool) -> None:
    async with door(tokens=(OWN, FULL), local=local) as at, at.browser() as browser:
        for token, status in (("", 401), ("the full token", 403)):
            refused = await ask(at, "POST", "/console/sign-in/new-link", {}, token)
            assert refused[0] == status
        status, told = await ask(at, "POST", "/console/sign-in/new-link", {})
        if not local:
            assert (status, told["fix"]) == (403, "gateway users add NAME --role admin")
            return
        shown = await browser.get(told["link"])
        form = {name: shown.field(name) for name in ("csrf", "next", "once")}
        assert (await browser.post("/console/sign-in/link", form)).status == 303
        assert (await browser.get("/console")).text.startswith("console:dev admin ")


async def test_no_other_method_means_anything() -> None:
    async with door(tokens=(OWN,)) as at, aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bearer {OWN.secret.value}"}
        for method in ("HEAD", "PUT", "DELETE", "OPTIONS"):
            for path in ("/console/users", "/console/users/ada"):
                async with http.request(method, at.url + path, headers=headers) as response:
                    assert response.status == 405, (method, path)


async def test_without_tokens_there_is_no_roster() -> None:
    async with door() as at:
        body = {"do": "add", "role": "admin"}
        assert (await ask(at, "POST", "/console/users/ada", body, ""))[0] == 403


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("ada", {"do": "add", "role": "king"}, "bad_request"),
        ("ada", {"do": "add"}, "bad_request"),
        ("Ada", {"do": "add", "role": "admin"}, "bad_request"),
        ("dev", {"do": "add", "role": "admin"}, "bad_request"),
        ("a%00b", {"do": "add", "role": "admin"}, "bad_request"),
        ("%0Aada", {"do": "add", "role": "admin"}, "bad_request"),
        ("x" * 200, {"do": "add", "role": "admin"}, "bad_request"),
        ("june", {"do": "add", "role": "admin"}, "user_exists"),
        ("nobody", {"do": "disable"}, "not_found"),
        ("no\x00body", {"do": "reset"}, "not_found"),
        ("june", {"do": "crown"}, "bad_request"),
        ("june", {}, "bad_request"),
        ("june", [], "bad_request"),
        ("june", None, "bad_request"),
    ],
)
async def test_what_can_t_be_done_is_a_problem(name: str, body: object, code: str) -> None:
    async with door(tokens=(OWN,)) as at:
        await at.invite("june")
        status, told = await ask(at, "POST", f"/console/users/{name}", body)
        assert (told["code"], status) == (code, told["status"])


async def test_a_reset_frees_who_was_locked_out(where: str) -> None:
    async with door(where, tokens=(OWN,)) as at, at.browser() as browser:
        await at.user("ada")
        for _ in range(5):
            await at.sign_in(browser, "ada", password="guess")
        _, told = await ask(at, "POST", "/console/users/ada", {"do": "reset"})
        assert (await at.set_up(browser, told["link"], "ada")).status == 200
        at.clock.tick(60)
        async with at.browser() as other:
            assert (await at.sign_in(other, "ada")).status == 303
