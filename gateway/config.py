"""Settings: the only module that reads the environment.

Environment beats ``gateway.toml`` beats defaults; a ``.env`` file, read in development only, stands
between the environment and the file. A TOML key is the variable's name in lower case without
``GATEWAY_``: ``host``, ``database_url``, ``slack_bot_token``. Tokens are tables::

    [tokens.helpdesk]
    token = "env:HELPDESK_TOKEN"  # or "file:/run/secrets/helpdesk"
    rights = ["chat", "resume"]  # chat, read, resume, admin (all of them)
    identities = ["slack:T024BE7LH"]  # whom its holder may speak and answer for

Every problem is reported at once, each value remembers where it came from, and no secret is ever
printed. An empty value counts as not set; a secret may be ``file:<path>``.
"""
# ruff: noqa: RUF009 - each default is a dataclass field that carries its row of the reference

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from typing_extensions import override

from gateway import values as v
from gateway.engine.errors import ConfigError
from gateway.engine.limits import Limits
from gateway.needs import CHANNEL_NEEDS
from gateway.values import RIGHTS, ApiToken, Mask, Right, Secret, Setting, is_loopback, setting

FULL, RESERVED = "full", frozenset({"full", "cli", "local"})
"""The name of ``GATEWAY_API_TOKEN``; names that ``gateway.toml`` may not give away."""


class SettingsError(ConfigError):
    """All that is wrong with the configuration, one line each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems), fix="gateway config show --origin")
        self.problems = tuple(problems)


# -- the table -------------------------------------------------------------------------------------
_LIMITS = Limits()


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings:
    """What the process runs with. Built by ``load`` (or by hand, in tests and embedding)."""

    database_url: str = setting(
        "DATABASE_URL", v.url("sqlite", "postgresql", "postgres", "memory"), "", "password"
    )
    redis_url: str | None = setting(
        "REDIS_URL", v.urls("redis", "rediss", "valkey", "valkeys"), None, "password"
    )
    port: int = setting("PORT", v.whole(0, 65535), 8787)
    host: str = setting("GATEWAY_HOST", v.text, "127.0.0.1")
    api_token: Secret | None = setting("GATEWAY_API_TOKEN", v.token, None, "all")
    agent: Path = setting("GATEWAY_AGENT", v.path, Path("agent"))
    model: str | None = setting("GATEWAY_MODEL", v.text, None)
    chat_path: str = setting("GATEWAY_CHAT_PATH", v.chat_path, "/message")
    max_sessions: float = setting("GATEWAY_MAX_SESSIONS", v.cap, v.MANY)
    max_attempts: int = setting("GATEWAY_MAX_ATTEMPTS", v.whole(1), _LIMITS.max_attempts)
    turn_idle: float = setting("GATEWAY_TURN_IDLE", v.duration, _LIMITS.turn_idle)
    turn_ceiling: float = setting("GATEWAY_TURN_CEILING", v.duration, _LIMITS.turn_ceiling)
    public_url: str | None = setting("GATEWAY_PUBLIC_URL", v.public_url, None)
    secret_keys: tuple[Secret, ...] = setting("GATEWAY_SECRET_KEYS", v.secrets, (), "all")
    trusted_proxies: tuple[str, ...] = setting("GATEWAY_TRUSTED_PROXIES", v.networks, ())
    state: Path = setting("GATEWAY_STATE", v.path, Path(".gateway"))
    anthropic_api_key: Secret | None = setting("ANTHROPIC_API_KEY", v.secret, None, "all")
    anthropic_base_url: str | None = setting("ANTHROPIC_BASE_URL", v.base_url, None, "password")
    slack_signing_secret: Secret | None = setting("SLACK_SIGNING_SECRET", v.secret, None, "all")
    slack_bot_token: Secret | None = setting("SLACK_BOT_TOKEN", v.secret, None, "all")
    slack_app_token: Secret | None = setting("SLACK_APP_TOKEN", v.secret, None, "all")
    slack_api_url: str = setting("SLACK_API_URL", v.base_url, "https://slack.com/api")
    slack_client_id: str | None = setting("SLACK_CLIENT_ID", v.text, None)
    slack_client_secret: Secret | None = setting("SLACK_CLIENT_SECRET", v.secret, None, "all")
    crisp_website_id: str | None = setting("CRISP_WEBSITE_ID", v.text, None)
    crisp_identifier: str | None = setting("CRISP_IDENTIFIER", v.text, None)
    crisp_key: Secret | None = setting("CRISP_KEY", v.secret, None, "all")
    crisp_signature_secret: Secret | None = setting("CRISP_SIGNATURE_SECRET", v.secret, None, "all")
    crisp_api_url: str = setting("CRISP_API_URL", v.base_url, "https://api.crisp.chat/v1")
    email_address: str | None = setting("EMAIL_ADDRESS", v.text, None)
    email_imap_url: str | None = setting("EMAIL_IMAP_URL", v.url("imaps", "imap"), None, "password")
    email_smtp_url: str | None = setting("EMAIL_SMTP_URL", v.url("smtps", "smtp"), None, "password")
    email_authserv_id: str | None = setting("EMAIL_AUTHSERV_ID", v.text, None)
    email_border_host: str | None = setting("EMAIL_BORDER_HOST", v.text, None)
    email_vouching_domains: tuple[str, ...] = setting("EMAIL_VOUCHING_DOMAINS", v.words, ())
    email_listen: str | None = setting("EMAIL_LISTEN", v.url("lmtp", "smtp"), None)
    email_listen_authserv_id: str | None = setting("EMAIL_LISTEN_AUTHSERV_ID", v.text, None)
    email_listen_border_host: str | None = setting("EMAIL_LISTEN_BORDER_HOST", v.text, None)
    email_since: str | None = setting("EMAIL_SINCE", v.text, None)
    email_postmark_login: Secret | None = setting("EMAIL_POSTMARK_LOGIN", v.secret, None, "all")
    email_sendgrid_key: str | None = setting("EMAIL_SENDGRID_PUBLIC_KEY", v.text, None)
    email_mailgun_key: Secret | None = setting("EMAIL_MAILGUN_SIGNING_KEY", v.secret, None, "all")
    email_resend_secret: Secret | None = setting("EMAIL_RESEND_SECRET", v.secret, None, "all")
    email_resend_api_key: Secret | None = setting("EMAIL_RESEND_API_KEY", v.secret, None, "all")
    email_ses_topic: str | None = setting("EMAIL_SES_TOPIC", v.text, None)
    oidc_issuer: str | None = setting("GATEWAY_OIDC_ISSUER", v.issuer, None)
    oidc_client_id: str | None = setting("GATEWAY_OIDC_CLIENT_ID", v.text, None)
    oidc_client_secret: Secret | None = setting("GATEWAY_OIDC_CLIENT_SECRET", v.secret, None, "all")
    oidc_name_claim: str = setting("GATEWAY_OIDC_NAME_CLAIM", v.text, "email")
    oidc_role_claim: str = setting("GATEWAY_OIDC_ROLE_CLAIM", v.text, "groups")
    oidc_roles: tuple[str, ...] = setting("GATEWAY_OIDC_ROLES", v.roles, ())
    tokens: tuple[ApiToken, ...] = ()
    """The named tokens of ``gateway.toml``."""
    origins: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)
    """Field → where its value came from."""
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)
    """What a channel or an agent's services are built from: all variables, with the settings of
    ``gateway.toml`` under their variable's name, and a secret where only its place was named."""

    @override
    def __repr__(self) -> str:
        held = (f"{name}={value!r}" for name, value, origin in self.shown() if origin != "default")
        return f"Settings({', '.join(held)})"

    def __post_init__(self) -> None:
        if not self.database_url:
            object.__setattr__(self, "database_url", f"sqlite:///{self.state / 'gateway.db'}")

    @classmethod
    def load(
        cls,
        environ: Mapping[str, str] | None = None,
        toml_path: Path | None = Path("gateway.toml"),
        dotenv: Path | None = None,
    ) -> Settings:
        """Read everything. ``dotenv`` is named in development only; a missing file is no problem.

        Raises ``SettingsError`` with every problem there is.
        """
        return _Loader(dict(os.environ if environ is None else environ)).load(toml_path, dotenv)

    @property
    def api_tokens(self) -> tuple[ApiToken, ...]:
        """Every token that opens the API, the full one first."""
        full = () if self.api_token is None else (ApiToken(FULL, self.api_token),)
        return (*full, *self.tokens)

    @property
    def limits(self) -> Limits:
        return Limits(
            turn_idle=self.turn_idle, turn_ceiling=self.turn_ceiling, max_attempts=self.max_attempts
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every configured secret, for the log to leave out."""
        found = [token.secret.value for token in self.tokens]
        for row in ROWS:
            found += row.hidden(getattr(self, row.field))
        return tuple(found)

    def missing(self, channel: str) -> tuple[str, ...]:
        """The settings that would turn a channel on; none when it is, or needs none of ours."""
        return tuple(
            " or ".join(names)
            for names in CHANNEL_NEEDS.get(channel, ())
            if not any(getattr(self, BY_ENV[name].field) for name in names)
        )

    def shown(self) -> Iterator[tuple[str, str, str]]:
        """(variable, value with secrets masked, origin) of every setting, for ``config show``."""
        for row in ROWS:
            yield (
                row.env,
                row.show(getattr(self, row.field)),
                self.origins.get(row.field, "default"),
            )
        for token in self.tokens:
            text = f"*** rights={','.join(sorted(token.rights))} identities={','.join(token.identities)}"
            yield (
                f"tokens.{token.name}",
                text,
                self.origins.get(f"tokens.{token.name}", "gateway.toml"),
            )

    def serve_problems(self) -> list[str]:
        """Why ``serve`` must not start with these settings."""
        if self.api_tokens:
            return []
        bind = "" if is_loopback(self.host) else f", least of all on {self.host}"
        return [f"GATEWAY_API_TOKEN: the API may not be served without a token{bind}"]


ROWS: tuple[Setting, ...] = tuple(
    Setting(f.name, *cast("tuple[str, Any, Mask]", f.metadata["row"]))
    for f in fields(Settings)
    if "row" in f.metadata
)
BY_ENV: Mapping[str, Setting] = MappingProxyType({row.env: row for row in ROWS})
BY_KEY: Mapping[str, Setting] = MappingProxyType({row.key: row for row in ROWS})


# -- reading ---------------------------------------------------------------------------------------
@dataclass
class _Loader:
    """Collects values and problems until everything has been looked at."""

    environ: dict[str, str]
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    origins: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[str] = field(default_factory=list[str])
    found: dict[str, str] = field(default_factory=dict[str, str])
    """Secrets that stood elsewhere, under their variables' names."""

    def load(self, toml: Path | None, dotenv: Path | None) -> Settings:
        document, lines = self._document(toml)
        tables = document.pop("tokens", {})
        lent = self._file(document, lines, "" if toml is None else toml.name)
        local = self._local(dotenv)
        self._variables(local, ".env")
        self._variables(self.environ, "environment")
        self.environ = {**lent, **local, **self.environ, **self.found}
        tokens = self._tokens(tables)
        self._contradictions(tokens)
        if self.problems:
            raise SettingsError(self.problems)
        return Settings(
            **self.values,
            tokens=tokens,
            origins=MappingProxyType(self.origins),
            environ=MappingProxyType(self.environ),
        )

    def _document(self, file: Path | None) -> tuple[dict[str, Any], list[str]]:
        if file is None or not os.path.lexists(file):
            return {}, []
        try:
            content = file.read_text("utf-8")
            return tomllib.loads(content), content.splitlines()
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            self.problems.append(f"{file.name}: {error}")
            return {}, []

    def _local(self, file: Path | None) -> dict[str, str]:
        try:
            return _dotenv(file)
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(f".env: {error}. fix: make it a readable file in UTF-8")
            return {}

    def _file(self, document: dict[str, Any], lines: list[str], name: str) -> dict[str, str]:
        """Take the file's values; returns them under their variables' names."""
        lent: dict[str, str] = {}
        for key, value in document.items():
            pattern = re.compile(rf"\s*[\[\"']*{re.escape(key)}[\]\"']*\s*(=|$)")
            at = next((n for n, line in enumerate(lines, 1) if pattern.match(line)), 1)
            where = f"{name}:{at}"
            row = BY_KEY.get(key)
            if row is None:
                hint = _did_you_mean(key, [*BY_KEY, "tokens"])
                self.problems.append(f"{where}: unknown key {key!r}{hint}")
            elif (flat := v.flat(value)) is None:
                self.problems.append(f"{where}: {key} must be a string, number or list of strings")
            elif flat:
                lent[row.env] = flat
                self._set(row, flat, where)
        return lent

    def _variables(self, variables: Mapping[str, str], origin: str) -> None:
        for name, raw in variables.items():
            if (row := BY_ENV.get(name)) and raw:
                self._set(row, raw, origin)
            elif row is None and name.startswith("GATEWAY_"):
                bare = name.removeprefix("GATEWAY_")  # PORT, not a misspelt GATEWAY_HOST
                known = [one for one in BY_ENV if one.startswith("GATEWAY_")]
                hint = f". did you mean {bare}?" if bare in BY_ENV else _did_you_mean(name, known)
                self.problems.append(f"{name} ({origin}): no such setting{hint}")

    def _set(self, row: Setting, raw: str, origin: str) -> None:
        try:
            value = self._indirect(raw) if row.mask == "all" else raw
            self.found.pop(row.env, None)
            self.found |= {} if value == raw else {row.env: value}
            self.values[row.field] = row.parse(value)
            self.origins[row.field] = origin
        except ValueError as error:
            shown = f" (is {row.show(raw)!r})" if row.mask == "no" else ""
            self.problems.append(f"{row.env} ({origin}): {error}{shown}")

    def _indirect(self, raw: str) -> str:
        """A secret's text, from where it says that it is. Only where is never taken for it."""
        kind, _, rest = raw.partition(":")
        if kind == "env":
            raw = self.environ.get(rest, "")
            if not raw or raw.startswith("env:"):
                raise ValueError(f"names the variable {rest}, which isn't set or names another")
            kind, _, rest = raw.partition(":")
        return v.secret_file(rest) if kind == "file" else raw

    def _tokens(self, tables: object) -> tuple[ApiToken, ...]:
        if not isinstance(tables, dict):
            self.problems.append("tokens: each token is a table: [tokens.<name>]")
            return ()
        found: list[ApiToken] = []
        for name, table in cast("dict[str, object]", tables).items():
            before = len(self.problems)
            token = self._token(name, table)
            if token is not None and len(self.problems) == before:
                found.append(token)
                self.origins[f"tokens.{name}"] = "gateway.toml"
        return tuple(found)

    def _token(self, name: str, table: object) -> ApiToken | None:
        say = self.problems.append
        here = f"tokens.{name}"
        if not isinstance(table, dict):
            say(f"{here}: must be a table with token and rights")
            return None
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name) or name in RESERVED:
            say(
                f"{here}: a name is lower case letters, digits, - and _, and none of {_list(RESERVED)}"
            )
        given = cast("dict[str, object]", table)
        known = ("token", "rights", "identities")
        for key in set(given).difference(known):
            say(f"{here}: unknown key {key!r}{_did_you_mean(key, known)}")
        rights, people = v.strings(given.get("rights")), v.strings(given.get("identities", []))
        for right in set(rights or ()) - set(RIGHTS):
            say(f"{here}: unknown right {right!r}{_did_you_mean(right, RIGHTS)}")
        if not rights:
            say(f"{here}: rights must list one or more of {_list(RIGHTS)}")
        if people is None or not all(people):
            say(f"{here}: identities must be a list of prefixes such as slack:T024BE7LH")
        try:
            secret = v.token(self._indirect(str(given.get("token", ""))))
            return ApiToken(
                name, secret, frozenset(cast("list[Right]", rights or [])), tuple(people or ())
            )
        except ValueError as error:
            say(f"{here}: token {error}")
            return None

    def _contradictions(self, tokens: tuple[ApiToken, ...]) -> None:
        held = [t.secret.value for t in tokens]
        if (full := self.values.get("api_token")) is not None:
            held.append(cast("Secret", full).value)
        if len(set(held)) < len(held):
            self.problems.append(
                "tokens: two tokens share one secret, so nobody could tell who acts"
            )
        if "oidc_issuer" in self.values:
            wanted = ("public_url", "oidc_client_id", "oidc_client_secret", "oidc_roles")
            self.problems += [
                f"GATEWAY_OIDC_ISSUER: sign-in needs {row.env}, too"
                for row in ROWS
                if row.field in wanted and row.field not in self.values
            ]
        names = ("turn_idle", "turn_ceiling", "max_attempts")
        try:
            Limits(**{name: self.values[name] for name in names if name in self.values})
        except ConfigError as error:
            self.problems.append(f"{error}. fix: {error.fix}")


def _dotenv(file: Path | None) -> dict[str, str]:
    if file is None or not os.path.lexists(file):
        return {}
    from dotenv import dotenv_values

    with file.open(encoding="utf-8") as stream:
        found = dotenv_values(stream=stream, interpolate=False).items()
    return {name: value for name, value in found if value is not None}


def only_in(dotenv: Path) -> tuple[str, ...]:
    """Variables that this file sets and the environment doesn't: ``serve`` runs without them, and
    without a file that it can't read. Blocks."""
    try:
        found = _dotenv(dotenv).items()
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(name for name, value in found if value and name not in os.environ)


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f". did you mean {near[0]}?" if near else ""


def foreign_environ() -> dict[str, str]:
    """The environment without our settings: for a child process that must not inherit them."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in BY_ENV and not name.startswith("GATEWAY_")
    }
