"""A wire between a mail client and its server that can be cut in every way a real one is."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Cut = Literal["fin", "rst", "bye"]
HOST = "127.0.0.1"


class Relay:
    """``said`` is what clients have sent, over all connections."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.said = bytearray()
        self.connections = 0
        self.trip: tuple[bytes, Cut] | None = None
        """What a client must say, once, for the cut to happen right then."""
        self._to = port
        self._dark = False
        self._pairs: list[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up, down = await asyncio.open_connection(HOST, self._to)
        self._dark = False
        self.connections += 1
        self._pairs.append((writer, down))
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(reader, down, ours=True))
                both.create_task(self._pump(up, writer, ours=False))
        except* (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for end in (writer, down):
                end.close()

    def cut(self, how: Cut) -> None:
        """End what is connected now; who connects again gets through."""
        pairs, self._pairs = self._pairs, []
        for client, server in pairs:
            if how == "bye":
                client.write(b"* BYE the server is going down\r\n")
            if how == "rst":
                line = client.get_extra_info("socket")
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            server.close()

    def darken(self) -> None:
        """Everything stays connected, and nothing gets through, until somebody connects again."""
        self._dark = True

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, ours: bool
    ) -> None:
        while data := await reader.read(1 << 16):
            if ours:
                self.said += data
                if self.trip is not None and self.trip[0] in data:
                    how, self.trip = self.trip[1], None
                    self.cut(how)
                    return
            if not self._dark:
                writer.write(data)
                await writer.drain()
        writer.close()


def certified(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For a server on loopback, and for a client that believes it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail.example")])
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(alternative, critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "mail.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(pem)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=str(file))


@contextlib.asynccontextmanager
async def relay(port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Relay]:
    """``tls``: what clients speak with it; the server behind it is spoken to in the clear."""
    found = Relay(port)
    server = await asyncio.start_server(found.serve, HOST, 0, ssl=tls)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        found.cut("fin")
        await server.wait_closed()
        await asyncio.sleep(0.01)
