"""The settings of an OpenID provider: all of them or none, and a mistake in one is told by its name."""

from __future__ import annotations

import pytest

from gateway.config import Settings, SettingsError

WHOLE = {
    "GATEWAY_OIDC_ISSUER": "https://id.shop.example/",
    "GATEWAY_OIDC_CLIENT_ID": "june",
    "GATEWAY_OIDC_CLIENT_SECRET": "a-secret-of-ours",
    "GATEWAY_OIDC_ROLES": "ops=leads=admin, *=viewer",
    "GATEWAY_PUBLIC_URL": "https://june.example",
}


def problems(**changed: str) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.load(WHOLE | changed, None)
    return str(caught.value)


def test_a_whole_provider() -> None:
    found = Settings.load(WHOLE, None)
    assert found.oidc_issuer == "https://id.shop.example/", "its last slash belongs to its name"
    assert found.oidc_roles == ("ops=leads=admin", "*=viewer")
    assert (found.oidc_name_claim, found.oidc_role_claim) == ("email", "groups")
    assert "a-secret-of-ours" in found.secrets
    assert "a-secret-of-ours" not in repr(found)


@pytest.mark.parametrize("missing", sorted(WHOLE.keys() - {"GATEWAY_OIDC_ISSUER"}))
def test_half_a_provider_is_none(missing: str) -> None:
    assert f"GATEWAY_OIDC_ISSUER: sign-in needs {missing}, too" in problems(**{missing: ""})


@pytest.mark.parametrize("roles", ["admins", "=admin", "admins=king", "a=admin,b"])
def test_roles_that_are_none(roles: str) -> None:
    assert problems(GATEWAY_OIDC_ROLES=roles).startswith(
        "GATEWAY_OIDC_ROLES (environment): must be"
    )


def test_a_provider_is_asked_over_tls_or_on_this_machine() -> None:
    assert "must begin with https://" in problems(GATEWAY_OIDC_ISSUER="http://id.shop.example")
    here = WHOLE | {"GATEWAY_OIDC_ISSUER": "http://127.0.0.1:9000"}
    assert Settings.load(here, None).oidc_issuer == "http://127.0.0.1:9000"
