"""Which settings turn a channel on: one of each group. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["CHANNEL_NEEDS", "NOT_YET", "STAND_INS"]

CHANNEL_NEEDS: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "slack": (
            ("SLACK_BOT_TOKEN", "SLACK_CLIENT_ID"),
            ("SLACK_SIGNING_SECRET", "SLACK_APP_TOKEN"),
        ),
        "crisp": (
            ("CRISP_WEBSITE_ID",),
            ("CRISP_IDENTIFIER",),
            ("CRISP_KEY",),
            ("CRISP_SIGNATURE_SECRET",),
        ),
        "email": (
            ("EMAIL_ADDRESS",),
            (
                "EMAIL_IMAP_URL",
                "EMAIL_LISTEN",
                "EMAIL_POSTMARK_LOGIN",
                "EMAIL_SENDGRID_PUBLIC_KEY",
                "EMAIL_MAILGUN_SIGNING_KEY",
                "EMAIL_RESEND_SECRET",
                "EMAIL_SES_TOPIC",
            ),
            ("EMAIL_SMTP_URL",),
            ("GATEWAY_SECRET_KEYS",),
        ),
    }
)
NOT_YET = frozenset({"crisp"})
"""Channels whose settings are known, and that this release doesn't have. An agent may bring its own."""
STAND_INS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "email": {
            "EMAIL_ADDRESS": "support@shop.example",
            "EMAIL_SMTP_URL": "smtps://support:none@smtp.shop.example",
            "GATEWAY_SECRET_KEYS": "a-stand-in-that-signs-nothing",
        },
    }
)
"""What a channel that is off is made with, so that its options are checked all the same."""
