"""What ``docs/reference.md`` says beyond what the code tells by itself. A name that the code has and
these words lack fails the generation, and so does one that the code has no longer."""

from __future__ import annotations

EVENTS = {
    "turn.queued": "the turn stands in line; `position` turns stand before it",
    "turn.started": "the turn begins, and again with `resume` after an answer; never on replay",
    "reasoning.delta": "thinking as it comes",
    "message.delta": "text as it comes",
    "tool_input.delta": "how much of a call's arguments is written",
    "model.retrying": "the text shown since the last committed step is void",
    "reasoning.completed": "thinking, committed",
    "message.completed": "text, committed",
    "action.requested": "the model calls a tool",
    "action.progress": "what a tool reports with `ctx.progress`",
    "action.completed": "a call has its result; `error` if it threw, `duration` in milliseconds",
    "input.requested": "the turn parks until somebody answers",
    "input.voted": "an answer counted, and others are still missing",
    "input.answered": "the request is decided, has expired, or went with its turn",
    "usage": "what one model call took; `cost` in US dollars, null when no price is known",
    "compaction.started": "reserved; this release doesn't compact",
    "guardrail.found": "reserved; this release has no guardrails",
    "turn.completed": "the end: the final text and the sums of every model call, also of those that came to nothing",
    "turn.failed": "the end: why, in which phase and step",
    "turn.cancelled": "the end: by whose wish",
    "turn.timed_out": "the end: `deadline` is `idle` or `ceiling`",
}

ERRORS = {
    "already_answered": ("somebody was first; `by`, `outcome` and `at` say who", "read the turn"),
    "authorize_hook": (
        "the agent's `authorize_answer` raised; nothing was applied",
        "mend the hook (the log has the stack), send the same answer again",
    ),
    "bad_request": ("a body, parameter or key that can't be understood", "see `/openapi.json`"),
    "busy": ("over a queue limit; nothing was claimed", "try again after `Retry-After`"),
    "config": ("settings that can't work", "`gateway config show --origin`"),
    "cursor_ahead": (
        "a cursor beyond the end of the log",
        "read the turn and go on from its `last_seq`",
    ),
    "definition": ("mistakes in the agent directory, all of them", "`gateway check`"),
    "deliver_unsupported": (
        "no channel here could deliver; nothing was started or answered",
        "leave `?deliver=1` out, or mount the channel",
    ),
    "draining": ("this process is stopping", "try again; its next start takes the request"),
    "duplicate": ("a dedupe key was claimed before", "nothing: the first one counts"),
    "fatal_tool": ("a tool failed the whole turn", "mend what the tool names"),
    "forbidden": (
        "the token lacks the right, or the identity lies outside its prefixes",
        "extend the token's table in `gateway.toml`",
    ),
    "input_expired": (
        "nobody answered in time; raised in the tool",
        "give `on_expiry=`, or catch it",
    ),
    "input_request": ("a tool asks in a way that can't work", "the message says how"),
    "internal": ("a fault of the gateway", "look for the error id in the log"),
    "invalid_input": (
        "an answer that doesn't fit the request's schema, or a key that can't be one",
        "send a value that fits; the request stays open",
    ),
    "method_not_allowed": ("the path takes another method", "see the `Allow` header"),
    "model": ("the model failed for good; ends the turn", "the message says what was refused"),
    "model_unavailable": (
        "the model can't be reached; the engine tries again by itself",
        "none, unless the turn failed with it: the provider's status page",
    ),
    "not_authorized": ("this identity may not answer this request", "ask who may; it stays open"),
    "not_dead": (
        "a delivery that wasn't given up needs no retry",
        "look at it: `gateway deliveries show`",
    ),
    "not_held": (
        "the mail isn't held for an operator, or was let in before",
        "`gateway why EVENT` says what became of it",
    ),
    "not_found": ("no such agent, session, turn, request or path", "list what there is"),
    "oidc_provider": (
        "the OpenID provider can't be reached, or makes no sense",
        "try again; check `GATEWAY_OIDC_ISSUER`",
    ),
    "reader_cut": ("the reader was too slow", "come back with the last id"),
    "request_timeout": ("the body took longer than 30 s", "send it again"),
    "schema_too_new": ("a newer release wrote the store", "install that release"),
    "seam_version": (
        "a store, sink or model written for another version of the seam",
        "install versions that match",
    ),
    "seed_failed": (
        "the function that says what a schedule asks raised, or returned no text; no turn was started",
        "mend the seed function, then `gateway schedules run NAME`",
    ),
    "session_suspended": (
        "the session waits for a person",
        "answer the request, reset the session, or use another one",
    ),
    "stale_answer": (
        "wrong turn, wrong request, another digest, or nothing waits",
        "read the open request and answer that",
    ),
    "lease_lost": ("somebody else may have what this process held; nothing was written", "nothing"),
    "stale_attempt": ("another process has the session; nothing was written", "nothing"),
    "store_unavailable": (
        "the store can't take a write now, or this process is stopping",
        "try again after `Retry-After`; turns go on by themselves",
    ),
    "tool_definition": ("a function that can't be a tool", "the message has file, line and fix"),
    "too_large": ("over a byte limit", "send less"),
    "turn_id_conflict": (
        "the turn id is taken by other content or another speaker",
        "use a new id for a new message",
    ),
    "unauthenticated": ("no token, or none that is known", "send `Authorization: Bearer <token>`"),
    "unknown_wire_version": (
        "a stored record of a version this release doesn't read",
        "install the release that wrote it",
    ),
    "unsupported_media_type": (
        "the body isn't JSON by its type",
        "`Content-Type: application/json`",
    ),
    "user_exists": (
        "a user of `/console` has this name already",
        "`gateway users role`, or `gateway users reset`",
    ),
    "write_conflict": ("rows that contradict the store; a fault of the gateway", "report it"),
}

LATER = "for a channel; checked, and not used before that channel comes"

SETTINGS = {
    "DATABASE_URL": "where everything is kept: `sqlite:///file`, `postgresql://…`, `memory://`",
    "REDIS_URL": "must be unset: this release shares no live events between hosts",
    "PORT": "where to listen; 0 takes a free port",
    "GATEWAY_HOST": "the address to listen on",
    "GATEWAY_API_TOKEN": "the token with every right, at least 16 characters; `serve` doesn't start without a token",
    "GATEWAY_AGENT": "the agent directory",
    "GATEWAY_MODEL": "goes before the agent's own model; `scripted` runs `offline.py`",
    "GATEWAY_CHAT_PATH": "where the chat route answers",
    "GATEWAY_MAX_SESSIONS": "actors kept in memory; idle ones go first. A whole number, or `inf`",
    "GATEWAY_MAX_ATTEMPTS": "crashes of the process that one turn may cause",
    "GATEWAY_TURN_IDLE": "longest silence of a running turn: `90s`, `5m`",
    "GATEWAY_TURN_CEILING": "longest running time of a turn; waiting doesn't count",
    "GATEWAY_PUBLIC_URL": "where the world reaches this host; for links, cookies of `/console`, and where workspaces install the Slack app",
    "GATEWAY_SECRET_KEYS": "keys to encrypt with, 32 characters or more each, the first for what is new; needed where workspaces install the Slack app, for email, and for users of `/console`",
    "GATEWAY_TRUSTED_PROXIES": "networks whose `X-Forwarded-For` counts, where the sign-in of `/console` counts failures by address",
    "GATEWAY_OIDC_ISSUER": "the OpenID provider that signs people in to `/console`, exactly as it names itself; without it the users of `gateway users` do",
    "GATEWAY_OIDC_CLIENT_ID": "this gateway's id there; its redirect address is `GATEWAY_PUBLIC_URL` with `/console/sign-in/back`",
    "GATEWAY_OIDC_CLIENT_SECRET": "its secret",
    "GATEWAY_OIDC_NAME_CLAIM": "the claim that names a user; `email` must be verified",
    "GATEWAY_OIDC_ROLE_CLAIM": "the claim that tells their role: a text, or a list of texts",
    "GATEWAY_OIDC_ROLES": "which of its values gives which role: `admins=admin, support=operator`; `*` is everybody; who has none is not let in",
    "GATEWAY_STATE": "the state directory: database, `host.json`, `host.token`",
    "ANTHROPIC_API_KEY": "the model provider's key",
    "SLACK_SIGNING_SECRET": "proves that a webhook is Slack's; turns `channels/slack.py` on together with a token",
    "SLACK_BOT_TOKEN": "the app's token (`xoxb-`) in the one workspace that it serves",
    "SLACK_APP_TOKEN": "an app-level token (`xapp-`): Socket Mode instead of webhooks",
    "SLACK_API_URL": "another address for Slack's Web API, such as the emulator's",
    "SLACK_CLIENT_ID": "the app's id, where workspaces install it at `/channels/slack/install`",
    "SLACK_CLIENT_SECRET": "its secret",
    "EMAIL_ADDRESS": "the inbox's address, with at most 17 characters before its @; turns `channels/email.py` on together with a way in, a way out and `GATEWAY_SECRET_KEYS`",
    "EMAIL_IMAP_URL": "a way in: the mailbox to look after, `imaps://user:password@host:993/INBOX`",
    "EMAIL_SMTP_URL": "the way out: `smtps://user:password@host`, with `:587?tls=starttls` where TLS begins later",
    "EMAIL_AUTHSERV_ID": "the name that the `Authentication-Results` of the mailbox's border begin with; unset where it writes none",
    "EMAIL_BORDER_HOST": "of the mailbox: the host behind `by` in the `Received` line of the server that checked; with a dot in front, all hosts below it. Without it nobody who writes is known",
    "EMAIL_VOUCHING_DOMAINS": "domains that vouch for each of their people: their mail is of level `sender`",
    "EMAIL_LISTEN": "a way in: where your mail server hands mail over, `lmtp://127.0.0.1:2400`",
    "EMAIL_LISTEN_AUTHSERV_ID": "of what comes by `EMAIL_LISTEN`: the name that its `Authentication-Results` begin with; unset where there are none",
    "EMAIL_LISTEN_BORDER_HOST": "of what comes by `EMAIL_LISTEN`: the host behind `by` in its first `Received` line, if that is the server that checked. Without it nobody who writes by this way is known",
    "EMAIL_SINCE": "`all`, or a day: older mail in the mailbox is left alone. Without it, mail from before the first start is",
    "EMAIL_POSTMARK_LOGIN": "a way in: `user:password` of the webhook's URL at Postmark",
    "EMAIL_SENDGRID_PUBLIC_KEY": "a way in: the public key of the security policy at SendGrid",
    "EMAIL_MAILGUN_SIGNING_KEY": "a way in: the webhook signing key at Mailgun",
    "EMAIL_RESEND_SECRET": "a way in: the signing secret (`whsec_`) of the webhook at Resend",
    "EMAIL_RESEND_API_KEY": "the key that a mail is fetched from Resend with",
    "EMAIL_SES_TOPIC": "a way in: the ARN of the SNS topic that SES hands mail to",
    "ANTHROPIC_BASE_URL": "another address for the provider, such as `gateway fakes start model`",
}

LIMITS = {
    "turn_idle": "seconds of silence that end a running turn (`GATEWAY_TURN_IDLE`)",
    "turn_ceiling": "seconds of running that end a turn (`GATEWAY_TURN_CEILING`)",
    "credential_life": "must lie above the ceiling, where something issues credentials",
    "max_steps": "model calls of one turn",
    "same_call": "the same call with the same input so often in a row ends the turn",
    "max_attempts": "crashes of the process that one turn may cause (`GATEWAY_MAX_ATTEMPTS`)",
    "model_retry_for": "seconds for which a model that is away is asked again",
    "running_turns": "turns that run at once in a process",
    "queue_per_session": "turns that wait in one session",
    "queue_per_host": "turns that wait in a process, for a place or behind another turn of their session",
    "message_bytes": "what opens a turn",
    "tool_result_bytes": "a tool's result; more is cut and marked",
    "request_bytes": "a request for a person's input",
    "cancel_grace": "seconds that a call may take to obey a cancellation",
    "lease": "seconds of silence after which another process takes a session over",
}

RIGHTS = {
    "chat": "start, cancel and reset",
    "read": "look at everything",
    "resume": "answer requests",
    "admin": "all of these, read the audit, and end turns of a channel's sessions",
}

EXITS = {
    "OK": "done",
    "FAILURE": "it failed; the error says why",
    "USAGE": "the command was mistyped, or its input can't be used",
    "CHECK": "a check found mistakes, or the settings contradict each other",
    "NOT_FOUND": "no such session, turn, request or file",
    "NOT_ALLOWED": "not permitted",
    "SCHEMA": "the store was written by a newer release",
    "CONFLICT": "already answered, suspended, or held by another process",
    "UNREACHABLE": "the host doesn't answer",
    "PARKED": "not a failure: the turn waits for a person",
    "INTERRUPTED": "Ctrl-C",
    "PIPE": "whoever read the output left",
}

AGENT = {
    "name": "stands in addresses: a letter, then letters, digits, `-`, `_`",
    "model": "a model's name, `scripted`, or an object that speaks the model seam",
    "surfaces": 'a source\'s policy: `{"slack": Surface(…)}`',
    "approvals": 'where a policy\'s requests are shown: `{"refunds": "slack:C0123"}`',
    "authorize_answer": "decides who may answer where a request names a policy; without it nobody may",
    "services": "a function of the environment; its result is `ctx.services`",
    "on_turn_error": "told of a failed turn in place of the log",
}

DIRECTORY = {
    "agent.py": "`agent = Agent(…)`",
    "instructions.md": "the prompt; `instructions.<source>.md` adds to it for turns of that source",
    "offline.py": "`def reply(request) -> ModelReply`: the model when `GATEWAY_MODEL=scripted`",
    "tools": "`<name>.py`, one tool a file, named like the file",
    "skills": "`<name>/SKILL.md`: a line in the prompt, the text when the model calls `read_skill`",
    "schedules": "`<name>.md` or `<name>.py`; checked, and not run by this release",
    "channels": "`<name>.py` with `def channel(env)`; mounted under `/channels/<name>` once its settings are there",
    "connections": "an error: not supported yet",
    "subagents": "an error: not supported yet",
}

COMPANIONS = {
    "claims": "dedupe keys; written where `TurnInput.companions` carries one",
    "usage": "what each model call took; `step` is the message it gave, or below 0 if it came to nothing",
    "audit": "calls whose outcome is unknown (kind `outcome_unknown`); append-only, no text",
    "reservations": "reserved amounts; written by none yet",
}

WAYS = {
    "verdicts": "how each inbound event was judged and by which rule; ids, no text; `copies` counts how often it came",
    "inbox": "events that were acknowledged and wait to be acted on; `body` is emptied when that is done",
    "places": "which session a place (a thread, a post) belongs to",
    "pairs": "how often a bot and this agent spoke without a person in between",
    "deliveries": "what is to be shown where, and how far it is",
    "parts": "the messages of a delivery, as the platform confirmed them",
    "installations": "workspaces that let the agent in; `sealed` holds their tokens, encrypted",
    "leases": "what one host at a time may do",
    "files": "files that came in or go out",
    "occurrences": "what came of each tick of a schedule, once; the turn, if one was begun",
}
