"""The headers that mail servers in wide use put on a mail from a customer, in their order."""

from __future__ import annotations

from gateway.engine.struct import replace
from tests.unit.email.identity.mails import BORDER, LMTP, PASS, SENT, TRUST, WHEN

OWN = [
    "Return-Path: <ada@customer.example>",
    "Delivered-To: support@shop.example",
    LMTP,
    PASS,
    "Authentication-Results: mx.shop.example; spf=pass (sender SPF authorized) smtp.mailfrom=ada@customer.example",
    "Authentication-Results: mx.shop.example;\r\n\tdkim=pass (2048-bit key) header.d=customer.example header.b=a/b+",
    BORDER,
    *SENT,
]

SEAL = "ARC-Seal: i=1; a=rsa-sha256; t=1; cv=none; d={}; s=arc; b=MTIz"
TOLD = "ARC-Authentication-Results: i=1; {}; dmarc=pass header.from=customer.example"
GMAIL_TRUST = replace(
    TRUST, authserv_id="mx.google.com", border_host="mx.google.com", gmail_profile=True
)
GMAIL_RESULT = (
    "Authentication-Results: mx.google.com;\r\n"
    "       dkim=pass header.i=@customer.example header.s=k1 header.b=MTIzNDU2;\r\n"
    "       spf=pass (google.com: domain of ada@customer.example designates 192.0.2.7 as permitted sender)"
    " smtp.mailfrom=ada@customer.example;\r\n"
    "       dmarc=pass (p=NONE sp=QUARANTINE dis=NONE) header.from=customer.example"
)
GMAIL_BORDER = (
    "Received: from out.customer.example (out.customer.example. [192.0.2.7])\r\n"
    "        by mx.google.com with ESMTPS id a1-20si1.2.2026\r\n"
    "        for <support@shop.example>\r\n"
    f"        (version=TLS1_3 cipher=TLS_AES_256_GCM_SHA384 bits=256/256); {WHEN}"
)
GMAIL = [
    "Delivered-To: support@shop.example",
    f"Received: by 2002:a05:7022:321:b0:45:aa:bb with SMTP id t1csp2; {WHEN}",
    f"X-Received: by 2002:a17:907:3f95:b0:a0 with SMTP id h1mr2; {WHEN}",
    SEAL.format("google.com"),
    TOLD.format("mx.google.com"),
    "Return-Path: <ada@customer.example>",
    GMAIL_BORDER,
    "Received-SPF: pass (google.com: domain of ada@customer.example designates 192.0.2.7) client-ip=192.0.2.7;",
    GMAIL_RESULT,
    *SENT,
]

M365_TRUST = replace(TRUST, authserv_id=None, border_host=".mail.protection.outlook.com")
M365 = [
    (
        "Received: from A1.eurprd01.prod.outlook.com (2603:10a6:1::12)\r\n"
        f" by B2.eurprd01.prod.outlook.com with HTTPS; {WHEN}"
    ),
    SEAL.format("microsoft.com"),
    TOLD.format("mx.microsoft.com 1"),
    (
        "Received: from C3.eurprd01.prod.outlook.com (2603:10a6:2::9) by A1.eurprd01.prod.outlook.com\r\n"
        " (2603:10a6:1::12) with Microsoft SMTP Server (version=TLS1_2,\r\n"
        f" cipher=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384) id 15.20.1; {WHEN}"
    ),
    (
        "Authentication-Results: spf=pass (sender IP is 192.0.2.7)\r\n smtp.mailfrom=customer.example; dkim=pass"
        " (signature was verified)\r\n header.d=customer.example;dmarc=pass action=none\r\n"
        " header.from=customer.example;compauth=pass reason=100"
    ),
    "Received-SPF: Pass (protection.outlook.com: domain of customer.example designates 192.0.2.7)",
    (
        "Received: from out.customer.example (192.0.2.7) by\r\n AM1EUR.mail.protection.outlook.com (10.1.2.3)"
        f" with Microsoft SMTP Server\r\n (version=TLS1_3) id 15.20.1 via Frontend Transport; {WHEN}"
    ),
    *SENT,
]

FASTMAIL_TRUST = replace(
    TRUST, authserv_id=".messagingengine.com", border_host=".messagingengine.com"
)
_FASTMAIL_RESULT = (
    "Authentication-Results: mx3.messagingengine.com;\r\n    arc=none (no signatures found);\r\n"
    "    dkim=pass (2048-bit rsa key sha256) header.d=customer.example header.b=Zm9v x-bits=2048;\r\n"
    "    dmarc=pass policy.published-domain-policy=none\r\n      (p=none,d=none) policy.policy-from=p"
    " header.from=customer.example;\r\n    iprev=pass smtp.remote-ip=192.0.2.7 (out.customer.example);\r\n"
    "    spf=pass smtp.mailfrom=ada@customer.example smtp.helo=out.customer.example;\r\n"
    "    x-aligned-from=pass (Address match)"
)
_FASTMAIL_BORDER = (
    "Received: from out.customer.example (out.customer.example [192.0.2.7])\r\n"
    "\t(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits))\r\n"
    f"\tby mx3.messagingengine.com (Postfix) with ESMTPS\r\n\tfor <support@shop.example>; {WHEN}"
)
FASTMAIL = [
    (
        "Received: from compute1.internal (compute1.internal [10.202.2.2])\r\n"
        f"\t by store2.internal (Cyrus 3.13) with LMTPA; {WHEN}"
    ),
    f"Received: from mx3.internal ([10.202.2.202])\r\n  by compute1.internal (LMTPProxy); {WHEN}",
    _FASTMAIL_RESULT,
    _FASTMAIL_BORDER,
    *SENT,
]
FASTMAIL_MILTER = [
    (
        "Received: from mx3.messagingengine.com (localhost [127.0.0.1])\r\n"
        f"    by mx3.messagingengine.com (Authentication Milter) with ESMTP\r\n    id 12.A; {WHEN}"
    ),
    SEAL.format("messagingengine.com"),
    _FASTMAIL_RESULT,
    _FASTMAIL_BORDER,
    *SENT,
]
FROM_M365 = [
    *OWN[: -len(SENT)],
    SEAL.format("microsoft.com"),
    TOLD.format("mx.microsoft.com 1"),
    *SENT,
]
