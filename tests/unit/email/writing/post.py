"""A real mail server in a thread of its own, and a wire to it that can be cut."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from typing_extensions import override

HOST = "127.0.0.1"
USER, PASSWORD = "june", "p@ss/word"


@dataclass
class Post:
    """What the server says at which step, where it isn't yes, and what it took."""

    says: dict[str, str] = field(default_factory=dict[str, str])
    taken: list[tuple[str, list[str], bytes]] = field(default_factory=list)
    port: int = 0

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's names
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        envelope.mail_from = address
        return self.says.get("MAIL", "250 OK")

    async def handle_RCPT(  # noqa: N802
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        said = self.says.get(f"RCPT {address}", self.says.get("RCPT", "250 OK"))
        if said.startswith("2"):
            envelope.rcpt_tos.append(address)
        return said

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        said = self.says.get("END", "250 2.0.0 queued as 4711")
        if said.startswith("2"):
            content = envelope.content
            assert isinstance(content, bytes)
            self.taken.append(
                ((envelope.mail_from or "").strip("<>"), list(envelope.rcpt_tos), content)
            )
        return said

    def sign_in(
        self, _: SMTP, __: Session, ___: Envelope, mechanism: str, data: object
    ) -> AuthResult:
        assert mechanism in {"PLAIN", "LOGIN"}
        right = data == LoginPassword(USER.encode(), PASSWORD.encode())
        if "AUTH" in self.says:
            return AuthResult(success=False, handled=False, message=self.says["AUTH"])
        return AuthResult(success=right, handled=False)


class _Quick(SMTP):
    """Greets by a name that nobody has to look up."""

    def __init__(self, *given: object, **more: object) -> None:
        super().__init__(*given, hostname="mail.shop.example", **more)  # type: ignore[arg-type]


class _Controller(Controller):
    @override
    def factory(self) -> SMTP:
        return _Quick(self.handler, **self.SMTP_kwargs)

    @override
    def _trigger_server(self) -> None:
        assert isinstance(self.server, asyncio.Server)
        self.port = self.server.sockets[0].getsockname()[1]  # one was free
        super()._trigger_server()  # type: ignore[no-untyped-call]


@contextmanager
def post_office(
    tls: ssl.SSLContext | None = None, upgrade: ssl.SSLContext | None = None
) -> Iterator[Post]:
    post = Post()
    server = _Controller(
        post,
        HOST,
        0,
        ssl_context=tls,
        tls_context=upgrade,
        authenticator=post.sign_in,
        auth_require_tls=False,
        data_size_limit=20_000_000,
    )
    server.start()
    try:
        post.port = server.port
        yield post
    finally:
        server.stop()


# -- the wire ------------------------------------------------------------------------------------------
@asynccontextmanager
async def wire(port: int, cut: str) -> AsyncIterator[int]:
    """A relay to the server. ``cut`` says when the line breaks: ``accept``; a command, which isn't passed
    on; ``body``, within the letter; ``end``, before its last line is passed on; ``answer``, instead of
    what the server says to that. ``stall``: it stops reading within the letter."""
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if cut == "accept":
            writer.transport.abort()
            return
        back, forth = await asyncio.open_connection(HOST, port)
        try:
            async with asyncio.TaskGroup() as both:
                answers = both.create_task(_pass(back, writer))
                await _watch(reader, forth, back, cut, gone, answers)
                answers.cancel()
        finally:
            writer.transport.abort()
            forth.transport.abort()

    listener = socket.create_server((HOST, 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    server = await asyncio.start_server(serve, sock=listener)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        gone.set()
        server.close()
        await server.wait_closed()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)


async def _watch(
    reader: asyncio.StreamReader,
    forth: asyncio.StreamWriter,
    back: asyncio.StreamReader,
    cut: str,
    gone: asyncio.Event,
    answers: asyncio.Task[None],
) -> None:
    letter = False
    tail = b""
    while data := await reader.read(65_536):
        if letter and cut == "body":
            return
        if letter and cut == "stall":
            await gone.wait()
            return
        tail = (tail + data)[-5:]
        if letter and tail.endswith(b"\r\n.\r\n"):
            if cut == "end":
                return
            if cut == "answer":
                answers.cancel()
                forth.write(data)
                await asyncio.sleep(0)  # the other reader is gone
                await back.read(1)
                return
        command = data[:4].upper().strip().decode("latin-1")
        if not letter and command == cut:
            return
        letter = letter or command == "DATA"
        forth.write(data)


# -- a server that says anything ------------------------------------------------------------------------
SAYS = {
    "GREETING": "220 mail.shop.example",
    "EHLO": "250-mail.shop.example\r\n250 AUTH PLAIN",
    "HELO": "250 mail.shop.example",
    "AUTH": "235 2.7.0 welcome",
    "DATA": "354 go on",
    ".": "250 2.0.0 queued",
    "QUIT": "221 bye",
}


@asynccontextmanager
async def scripted(**says: str) -> AsyncIterator[tuple[int, list[str]]]:
    """Says what it is told to, whatever is said to it; ``END`` is the answer to a letter. What it heard is
    kept, but for letters."""
    script = {**SAYS, **says, ".": says.get("END", SAYS["."])}
    heard: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{script['GREETING']}\r\n".encode())
        letter = False
        while line := await reader.readline():
            said = line.decode().strip()
            if letter and said != ".":
                continue
            heard.append(said)
            verb = said.partition(" ")[0]
            answer = script.get(verb, "250 2.1.0 fine")
            writer.write(f"{answer}\r\n".encode())
            letter = verb == "DATA" and answer.startswith("354")
        writer.transport.abort()

    server = await asyncio.start_server(serve, HOST, 0)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()
        await server.wait_closed()


# -- certificates --------------------------------------------------------------------------------------
def contexts(folder: Path, name: str = "localhost") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's side, and the client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    both = folder / "both.pem"
    both.write_bytes(certificate + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(both)
    return server, ssl.create_default_context(cadata=certificate.decode())
