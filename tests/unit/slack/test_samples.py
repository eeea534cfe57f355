"""Every payload of the samples has its outcome, by HTTP and over the socket."""

from __future__ import annotations

import pytest

from channels.contract import Answer, Control, Ignored, Inbound, Parsed
from channels.slack.parse import Envelope, Handshake, parse, read, read_socket
from channels.slack.verify import Verified
from tests.unit.slack.payloads import FOLDER, ME, NAMES, ORG, RULES, sample, told, wire
from tests.unit.slack.words.oracle import elements

OUTCOMES = {
    "command.help": "unsupported:unknown-command",
    "command.reset": "control:reset",
    "command.reset_elsewhere": "unsupported:unknown-command",
    "command.reset_nowhere": "unsupported:unknown-command",
    "event.agent_session_stopped": "control:stop",
    "event.agent_session_title_changed": "accepted:hint",
    "event.app_context_changed": "accepted:hint",
    "event.app_home_opened": "control:home",
    "event.app_home_opened_home": "not_addressed:home-tab",
    "event.app_mention": "inbound:mention",
    "event.app_rate_limited": "not_addressed:app-rate-limited",
    "event.app_uninstalled": "control:uninstalled",
    "event.app_uninstalled_org": "control:uninstalled",
    "event.channel_id_changed": "accepted:channel-renamed",
    "event.channel_join": "not_addressed:subtype",
    "event.connect_app_mention": "policy:external",
    "event.connect_message": "policy:external",
    "event.function_executed": "unsupported:event-type",
    "event.message": "not_addressed:not-mentioned",
    "event.message_bot": "other_bot:not-listed",
    "event.message_bot_classic": "other_bot:not-listed",
    "event.message_changed": "control:edit",
    "event.message_changed_stream": "own_echo:own-edit",
    "event.message_changed_tombstone": "control:delete",
    "event.message_changed_unfurl": "not_addressed:no-text-change",
    "event.message_deleted": "control:delete",
    "event.message_deleted_tombstone": "not_addressed:subtype",
    "event.message_file_share": "inbound:mention",
    "event.message_im": "inbound:agent",
    "event.message_me": "inbound:mention",
    "event.message_mention": "inbound:mention",
    "event.message_mpim": "inbound:mention",
    "event.message_own": "own_echo:own-post",
    "event.message_replied": "not_addressed:subtype",
    "event.message_reply": "inbound:thread",
    "event.message_reply_to_us": "inbound:thread",
    "event.message_thread_broadcast": "inbound:thread",
    "event.org_message": "inbound:mention",
    "event.reaction_added": "not_addressed:event-type",
    "event.tokens_revoked": "control:revoked",
    "event.tokens_revoked_user": "not_addressed:user-tokens",
    "event.url_verification": "handshake",
    "interactive.approve": "answer:True",
    "interactive.connect_click": "answer:True",
    "interactive.deny": "answer:False",
    "interactive.forged": "policy:forged-answer",
    "interactive.form": "control:form",
    "interactive.message_action": "control:reset",
    "interactive.org_click": "answer:True",
    "interactive.pick": "answer:Missing.MISSING",
    "interactive.pick_select": "answer:Missing.MISSING",
    "interactive.reason": "control:form",
    "interactive.shortcut": "unsupported:unknown-command",
    "interactive.show": "control:show",
    "interactive.show_page": "control:show",
    "interactive.unknown_action": "unsupported:unknown-action",
    "interactive.view_closed": "not_addressed:view-closed",
    "interactive.view_submission": "answer:Missing.MISSING",
    "interactive.view_submission_reason": "answer:False",
    "socket.events_api": "inbound:mention",
    "socket.interactive": "answer:True",
    "socket.slash_commands": "control:reset",
}
OF_THE_ORG = {"event.org_message", "event.app_uninstalled_org", "interactive.org_click"}
SOCKET = {"event": "events_api", "interactive": "interactive", "command": "slash_commands"}


def outcome(found: Parsed) -> str:
    match found:
        case Inbound():
            return f"inbound:{found.addressed}"
        case Answer():
            return f"answer:{found.value}"
        case Control():
            return f"control:{found.kind}"
        case Ignored():
            return f"{found.verdict}:{found.rule}"


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_has_its_outcome(name: str) -> None:
    if name == "event.url_verification":
        body, kind = wire("event", sample(name))
        assert read(Verified(body), kind) == Handshake(str(sample(name)["challenge"]))
        return
    found = told(name, ORG if name in OF_THE_ORG else ME)
    assert outcome(found) == OUTCOMES[name]
    assert found.event_id


def test_the_table_has_every_sample_and_no_other() -> None:
    assert sorted(OUTCOMES) == NAMES


def test_every_sample_names_its_source() -> None:
    rows = (FOLDER / "README.md").read_text("utf-8").splitlines()
    named = [
        part.strip(" `")
        for row in rows
        if row.startswith("| `")
        for part in row.split("|")[1].split(",")
    ]
    assert sorted(named) == NAMES


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("socket.")])
def test_the_socket_tells_the_same_as_http(name: str) -> None:
    how = name.partition(".")[0]
    body, kind = wire(how, sample(name))
    web, socket = read(Verified(body), kind), read_socket(SOCKET[how], sample(name))
    if isinstance(web, Handshake) or isinstance(socket, Handshake):
        assert web == socket
        return
    me = ORG if name in OF_THE_ORG else ME
    assert isinstance(web, Envelope)
    assert isinstance(socket, Envelope)
    one, other = parse(web, me, RULES), parse(socket, me, RULES)
    assert outcome(one) == outcome(other)
    if not isinstance(one, Ignored):
        assert not isinstance(other, Ignored)
        assert one.keys == other.keys


SPOKEN = {"inbound", "control", "handshake"}
IGNORED = [
    name
    for name in NAMES
    if name.startswith("event.") and OUTCOMES[name].partition(":")[0] not in SPOKEN
]


@pytest.mark.parametrize("name", IGNORED)
def test_what_is_ignored_repeats_no_text(name: str) -> None:
    found = told(name)
    assert isinstance(found, Ignored)
    texts = [part["text"] for part in elements(sample(name)) if part.get("text")]
    assert not [said for said in texts if isinstance(said, str) and said in repr(found)]
