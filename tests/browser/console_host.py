"""A whole host with the demo's agent, to be killed under an open page: state directory and port are its
arguments. Prints the way into the operators' pages, then that it is ready."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gateway.config import Settings
from gateway.host.serving import Serving, serve

AGENT = Path(__file__).parents[2] / "agent"
TOKEN = "token-of-the-browser-tests"


def say(word: str, url: str) -> None:
    sys.stdout.write(f"{word} {url}\n")
    sys.stdout.flush()


def main(state: Path, port: int) -> int:
    settings = Settings.load(
        environ={
            "DATABASE_URL": f"sqlite:///{state}/console.db",
            "GATEWAY_AGENT": str(AGENT),
            "GATEWAY_API_TOKEN": TOKEN,
            "GATEWAY_MODEL": "scripted",
            "GATEWAY_STATE": str(state),
            "PORT": str(port),
        }
    )
    how = Serving(ready=lambda url: say("ready", url), welcome=lambda url: say("enter", url))
    return asyncio.run(serve(settings, how))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
