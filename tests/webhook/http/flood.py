"""Run as `python -m tests.webhook.http.flood PORT COUNT`: connections that send 7.5 of 8 MiB and then nothing."""

import asyncio
import contextlib
import ssl
import sys

from tests.webhook.http.test_handler import PATH

MEBI = 1 << 20


async def flood(port: int, count: int) -> None:
    """Open them all, send, and stay silent until standard input ends."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {8 * MEBI}\r\n\r\n"
    open_connections = []

    async def attack() -> None:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            open_connections.append(writer)
            writer.write(head.encode())
            for _ in range(30):
                writer.write(b" " * (MEBI // 4))
                await writer.drain()

    await asyncio.gather(*(attack() for _ in range(count)))
    print("sent", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(flood(int(sys.argv[1]), int(sys.argv[2])))
