"""``gateway users``: on the store itself, and through the host that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.cli.exits import Exit
from tests.support.cli import Serving, Shell

ROOT = Path(__file__).parents[3]
KEYS = "an encryption key of forty characters ..".replace(" ", "-")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, GATEWAY_AGENT=str(ROOT / "agent"), GATEWAY_SECRET_KEYS=KEYS)


def test_users_are_kept_before_the_first_start(shell: Shell) -> None:
    """The store is made by inviting somebody; looking makes none."""
    nobody = shell.run("users")
    assert (nobody.code, "gateway users add NAME" in nobody.err + nobody.out) == (Exit.OK, True)
    assert not (shell.folder / ".gateway").exists()

    added = shell.run("users", "add", "ada", "--role", "admin")
    assert added.code == Exit.OK, added.err
    assert "http://127.0.0.1:8787/console/set-up?once=" in added.out
    assert (shell.folder / ".gateway").stat().st_mode & 0o777 == 0o700
    assert shell.run("users", "disable", "ada").code == Exit.OK
    assert shell.run("users").out.split("\t")[:3] == ["ada", "admin", "disabled"]


def test_a_host_that_holds_the_store_is_asked_to(shell: Shell) -> None:
    with Serving(shell) as host:
        bob = shell.run("users", "add", "bob", "--role", "viewer", "--json").object
        assert bob["identity"] == "console:bob"
        assert str(bob["link"]).startswith(f"{host.url}/console/set-up?once=")
        again = shell.run("users", "add", "bob", "--role", "viewer", "--json")
        assert (again.code, again.error["code"]) == (Exit.CONFLICT, "user_exists")
        gone = shell.run("users", "disable", "nobody", "--json")
        assert (gone.code, gone.error["code"]) == (Exit.NOT_FOUND, "not_found")


def test_links_lead_to_where_the_world_reaches_the_host(shell: Shell) -> None:
    env = {"GATEWAY_PUBLIC_URL": "https://june.example"}
    added = shell.run("users", "add", "ada", "--role", "viewer", "--json", env=env).object
    assert str(added["link"]).startswith("https://june.example/console/set-up?once=")
    reset = shell.run("users", "reset", "ada", "--json", env=env).object
    assert reset["link"] != added["link"]


def test_a_link_into_dev_takes_a_running_one(shell: Shell) -> None:
    none = shell.run("users", "link", "--json")
    assert (none.code, none.error["fix"]) == (Exit.UNREACHABLE, "gateway dev")
    with Serving(shell):
        served = shell.run("users", "link", "--json")
        assert "isn't `gateway dev`" in str(served.error)


def test_mistakes_name_the_way_out(shell: Shell) -> None:
    keyless = shell.run("users", "add", "ada", "--role", "admin", env={"GATEWAY_SECRET_KEYS": ""})
    assert keyless.code == Exit.CHECK
    assert "openssl rand -hex 32" in keyless.err
    assert shell.run("users", "add", "ada").code == Exit.USAGE
    assert shell.run("users", "add", "ada", "--role", "king").code == Exit.USAGE
    name = shell.run("users", "add", "Ada L", "--role", "admin")
    assert name.code != Exit.OK
    assert "lower case" in name.err
