"""A controller that does just what it is told: python scripted_controller.py PORT [WORD…].

It greets, asks who the switch is, and answers echo requests.  Words make it differ: `role=master` asks for a
role, `flow` sends a flow-mod, `deaf` answers no echo, `dies` ends at the first message, `garbage` sends bytes
that mean nothing, `silent` never says anything, `mute` no more than
a greeting, `version=1` greets with that version only, `odd` sends a
message that only switches send, `cert=FILE` and `key=FILE` have it speak TLS.  When a port changes,
`chatters=N` has it send N long echo requests at once, `pours` has it send them for ever and read nothing
more, `raises` has it log a traceback, and `writes=FILE` an error to a file.  It prints what it hears.
"""

import asyncio
import contextlib
import os
import ssl
import sys
import traceback
from pathlib import Path

from penstock.openflow.messages import (
    BarrierReply,
    EchoReply,
    EchoRequest,
    FeaturesRequest,
    FlowCommand,
    FlowMod,
    Hello,
    OpenFlowMessage,
    PortStatus,
    Role,
    RoleRequest,
)
from penstock.openflow.wire import decode, encode
from penstock.openflow.wire.primitives import HEADER

WORDS = dict(word.partition("=")[::2] for word in sys.argv[2:])
VERSION = int(WORDS.get("version", 4))
LONG = EchoRequest(b"y" * 1000, xid=5)
LONGEST = EchoRequest(b"y" * 60_000, xid=5)


def fail(port: int) -> None:
    raise KeyError(port)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    def say(message: OpenFlowMessage) -> None:
        writer.write(encode(message, VERSION))

    if "garbage" in WORDS:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    elif "silent" not in WORDS:
        say(Hello(frozenset({VERSION})))
    while True:
        try:
            header = await reader.readexactly(HEADER.size)
            data = header + await reader.readexactly(HEADER.unpack(header)[2] - HEADER.size)
        except asyncio.IncompleteReadError:
            print("the switch hung up")
            writer.close()
            return
        message = decode(data)
        print("heard", message)
        if "dies" in WORDS:
            print("cannot go on")
            sys.stdout.flush()
            os._exit(7)
        if WORDS.keys() & {"silent", "garbage", "mute"}:
            continue
        match message:
            case Hello():
                say(FeaturesRequest(xid=1))
                if "role" in WORDS:
                    say(RoleRequest(Role[WORDS["role"].upper()], 1, xid=2))
                if "flow" in WORDS:
                    say(FlowMod(FlowCommand.ADD, xid=3))
                if "odd" in WORDS:
                    say(BarrierReply(xid=4))
            case PortStatus() if "pours" in WORDS:
                with contextlib.suppress(ConnectionError):
                    while True:
                        say(LONGEST)
                        await writer.drain()
                return
            case PortStatus() if "raises" in WORDS:
                try:
                    fail(message.desc.port_no)
                except KeyError:
                    traceback.print_exc()
            case PortStatus() if "writes" in WORDS:
                with Path(WORDS["writes"]).open("a") as log:
                    log.write(f"ERROR port {message.desc.port_no} has changed\n")
            case PortStatus() if "chatters" in WORDS:
                for _ in range(int(WORDS["chatters"])):
                    say(LONG)
            case EchoRequest(data=asked) if "deaf" not in WORDS:
                say(EchoReply(asked, xid=message.xid))


async def main() -> None:
    context = None
    if "cert" in WORDS:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(WORDS["cert"], WORDS["key"])
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), ssl=context)
    await server.serve_forever()


asyncio.run(main())
