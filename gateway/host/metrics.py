"""Prometheus text (version 0.0.4), written by hand: a handful of counters and gauges need no library.

Names carry base units and ``_total``; no label ever holds an id, a user or a session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from gateway.engine import events as ev
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.ports import EventSink, Subscription

Labels = tuple[tuple[str, str], ...]
CONTENT_TYPE = "text/plain; version=0.0.4"


@dataclass(slots=True)
class Metrics:
    """What this process has counted since it started."""

    requests: Counter[Labels] = field(default_factory=Counter[Labels])
    turns: Counter[Labels] = field(default_factory=Counter[Labels])
    parks: int = 0
    calls: Counter[Labels] = field(default_factory=Counter[Labels])
    tokens: Counter[Labels] = field(default_factory=Counter[Labels])
    hooks: Counter[Labels] = field(default_factory=Counter[Labels])
    verdicts: Counter[Labels] = field(default_factory=Counter[Labels])
    readers: int = 0
    readers_cut: int = 0

    def request(self, route: str, method: str, status: int) -> None:
        self.requests[("route", route), ("method", method), ("status", str(status))] += 1

    def hook(self, channel: str, status: int) -> None:
        self.hooks[("channel", channel), ("status", str(status))] += 1

    def verdict(self, source: str, word: str) -> None:
        self.verdicts[("source", source), ("verdict", word)] += 1

    def event(self, event: ev.TurnEvent) -> None:
        """Count a durable event. Deltas don't come here: they are many and say nothing."""
        match event:
            case ev.TurnCompleted():
                self.turns[(("status", "completed"),)] += 1
            case ev.TurnFailed():
                self.turns[(("status", "failed"),)] += 1
            case ev.TurnCancelled():
                self.turns[(("status", "cancelled"),)] += 1
            case ev.TurnTimedOut():
                self.turns[(("status", "timed_out"),)] += 1
            case ev.InputRequested():
                self.parks += 1
            case ev.ActionCompleted():
                outcome = "error" if event.error else "ok"
                self.calls[("tool", event.name), ("outcome", outcome)] += 1
            case ev.UsageEvent(usage=usage):
                for kind in ("input", "output", "cache_read", "cache_write"):
                    count: int = getattr(usage, kind)
                    self.tokens[("model", usage.model), ("kind", kind)] += count
            case _:
                pass

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        out: list[str] = []
        out += _family("gateway_http_requests_total", "Requests answered.", self.requests)
        out += _family("gateway_turns_total", "Turns that ended here.", self.turns)
        out += _family("gateway_parks_total", "Requests for a person's input.", self.parks)
        out += _family("gateway_tool_calls_total", "Tool calls that ended here.", self.calls)
        out += _family("gateway_tokens_total", "Tokens of committed model steps.", self.tokens)
        out += _family("gateway_webhooks_total", "Webhooks of channels, answered.", self.hooks)
        out += _family("gateway_verdicts_total", "Inbound events, as judged.", self.verdicts)
        out += _family("gateway_sse_cut_total", "Readers cut for being slow.", self.readers_cut)
        gauges = {**gauges, "gateway_sse_connections": ("Open event streams.", self.readers)}
        for name, (about, value) in gauges.items():
            out += [f"# HELP {name} {about}", f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(out) + "\n"


def _family(name: str, about: str, values: Mapping[Labels, int] | int) -> list[str]:
    lines = [f"# HELP {name} {about}", f"# TYPE {name} counter"]
    if isinstance(values, int):
        return [*lines, f"{name} {values}"]
    for labels, value in sorted(values.items()):
        shown = ",".join(f'{key}="{_escape(text)}"' for key, text in labels)
        lines.append(f"{name}{{{shown}}} {value}")
    return lines


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class MeteredSink:
    """A sink that counts what passes. It costs a look at each event, and nothing for deltas."""

    def __init__(self, inner: EventSink, metrics: Metrics) -> None:
        self.seam_version = inner.seam_version
        self._inner = inner
        self._metrics = metrics

    async def publish(self, ref: SessionRef, events: Sequence[ev.TurnEvent]) -> None:
        for event in events:
            if event.durable:
                self._metrics.event(event)
        await self._inner.publish(ref, events)

    def subscribe(self, ref: SessionRef, turn_id: str) -> AbstractAsyncContextManager[Subscription]:
        return self._inner.subscribe(ref, turn_id)

    def watched(self, ref: SessionRef) -> bool:
        return self._inner.watched(ref)


def seconds_since(at: Millis | None, now: Millis) -> float:
    return 0.0 if at is None else max(0, now - at) / 1000
