"""A program without a network: whoever asks for it, in whatever way, what comes of that is no violation.

In a search nothing of the user's is called.  So a call that fails may fail for that, and what the program
does then, it might not do otherwise; each code here ends with an error of the program's that is due to it.
What a program has of its own is there all the same, and a violation stays one.
"""

from __future__ import annotations

import socket
import subprocess
import threading
from pathlib import Path

import pytest
from bench.hostile.apps import write_app

from penstock._api import check, verify
from penstock._scenario.scenario import scenario_of
from penstock._verdict.verdict import Result, Why
from penstock._worker.engines import walk

needs_namespaces = pytest.mark.skipif(
    subprocess.run(
        ["unshare", "--map-current-user", "--net", "true"], capture_output=True, check=False
    ).returncode
    != 0,
    reason="the kernel gives no network of one's own",
)

NO_ROUTE = "to an address that no route leads to"
NOBODY_LISTENS = "to a port of this machine at which nothing of its own listens"
INTERFACES = "a question about network interfaces"

LIBRARY = "import struct\nlibc = ctypes.CDLL(None)\n"

IN_C = f"""\
{LIBRARY}def call():
    end = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    failed = libc.connect(end, struct.pack("=HH4s8x", socket.AF_INET, 80, bytes([192, 0, 2, 1])), 16)
    libc.close(end)
    return failed
"""
"""A call that Python does not know of."""

ASKING = {
    "C": (f"{IN_C}if call(): raise KeyError(1)", NO_ROUTE),
    "a thread of C's": (
        f"{IN_C}"
        "failed = []\n"
        "begin = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: failed.append(call()))\n"
        "thread = ctypes.c_ulong()\n"
        "libc.pthread_create(ctypes.byref(thread), None, begin, None)\n"
        "libc.pthread_join(thread, None)\n"
        "if failed[0]: raise KeyError(1)",
        NO_ROUTE,
    ),
    "a child process": (
        "subprocess.run([sys.executable, '-S', '-c', "
        "'import _socket; _socket.socket().connect((\"192.0.2.1\", 80))'], check=True, capture_output=True)",
        NO_ROUTE,
    ),
    "a process that it forks": (
        "child = os.fork()\n"
        "if not child: os._exit(socket.socket().connect_ex(('192.0.2.1', 80)))\n"
        "if os.waitpid(child, 0)[1]: raise KeyError(1)",
        NO_ROUTE,
    ),
    "a resolver in C": (
        "found = ctypes.c_void_p()\n"
        "name = b'penstock.invalid'\n"
        "if ctypes.CDLL(None).getaddrinfo(name, None, None, ctypes.byref(found)): raise KeyError(1)",
        "call",
    ),
    "the end of its process": (f"{IN_C}if call(): os._exit(1)", NO_ROUTE),
    "datagrams": ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))", NO_ROUTE),
    "IPv6": ("socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80))", NO_ROUTE),
    "a port of the machine's": ("socket.create_connection(('127.0.0.1', 9))", NOBODY_LISTENS),
    "packets of its own making": (
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).sendto(bytes(8), ('192.0.2.1', 0))",
        "a socket for packets of any kind",
    ),
    "an interface by its name": ("socket.if_nametoindex('eth0')", INTERFACES),
    "all interfaces": ("if len(socket.if_nameindex()) < 2: raise KeyError(1)", INTERFACES),
    "an interface's address": (
        "import fcntl\nfcntl.ioctl(socket.socket(), 0x8915, b'eth0' + bytes(36))",
        INTERFACES,
    ),
    "a group": (
        "socket.socket(type=socket.SOCK_DGRAM).setsockopt("
        "socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, bytes([224, 1, 1, 1, 0, 0, 0, 0]))",
        "a call to join a group",
    ),
    "the interface for a group": (
        "socket.socket(type=socket.SOCK_DGRAM).setsockopt("
        "socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton('192.0.2.7'))",
        "to use an interface by its name",
    ),
    "the interface for a group of IPv6": (
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).setsockopt("
        "socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, 2)",
        "to use an interface by its name",
    ),
    "the interface for packets of C": (
        f"{LIBRARY}end = libc.socket(socket.AF_INET, socket.SOCK_DGRAM, 0)\n"
        "if libc.setsockopt(end, socket.IPPROTO_IP, 50, bytes([0, 0, 0, 2]), 4): raise KeyError(1)",
        "to use an interface by its name",
    ),
    "datagrams to a name without a file": (
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '\\0nobody')",
        "an abstract socket",
    ),
    "messages to a name without a file": (
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, '\\0nobody')",
        "an abstract socket",
    ),
    "datagrams of C to a name without a file": (
        f"{LIBRARY}end = libc.socket(socket.AF_UNIX, socket.SOCK_DGRAM, 0)\n"
        "name = struct.pack('=H', socket.AF_UNIX) + b'\\0nobody'\n"
        "if libc.sendto(end, b'x', 1, 0, name, len(name)) < 0: raise KeyError(1)",
        "an abstract socket",
    ),
    "what the kernel's files say of interfaces": (
        "if 'eth0' not in open('/proc/net/dev').read(): raise KeyError(1)",
        INTERFACES,
    ),
    "a ring of calls": (
        f"{LIBRARY}libc.syscall(425, 1, ctypes.create_string_buffer(120))\nraise KeyError(1)",
        "a ring of calls",
    ),
    "a name without a file": ("socket.socket(socket.AF_UNIX).connect('\\0nobody')", "an abstract socket"),
}


@needs_namespaces
@pytest.mark.parametrize("way", ASKING)
def test_what_comes_of_a_network_that_is_missing_is_no_violation(tmp_path: Path, way: str) -> None:
    code, told = ASKING[way]
    app = write_app(tmp_path, "packet", code)
    result = check(app, topology="single,2", output=tmp_path / "traces", seconds=60)
    assert result.verdict.result is Result.BOUNDED, result
    assert not result.violations
    (reason,) = (each for each in result.left_out if each.startswith("the program asked for the network"))
    assert told in reason
    assert Why.NETWORK in {each.why for each in result.verdict.reasons}
    assert any("--network" in str(step) for step in result.next_steps)


@needs_namespaces
@pytest.mark.parametrize(
    ("waits", "told"),
    [("while call(): pass", NO_ROUTE), ("while not libc.if_nametoindex(b'eth0'): pass", INTERFACES)],
    ids=["counted", "noted"],
)
def test_a_hang_that_nothing_interrupts_is_none_if_the_network_is_missing(
    tmp_path: Path, waits: str, told: str
) -> None:
    deaf = f"signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n{waits}"
    app = write_app(tmp_path, "packet", IN_C + deaf)
    result = check(app, topology="single,2", output=tmp_path / "traces", seconds=120)
    assert result.verdict.result is Result.BOUNDED, result
    assert any(told in reason for reason in result.left_out)


@needs_namespaces
def test_proofs_and_walks_know_it_too(tmp_path: Path) -> None:
    app = write_app(tmp_path, "packet", ASKING["C"][0])
    proof = verify(app, topology="single,2", output=tmp_path, properties=["ControllerCrash"])
    scenario = scenario_of({"topology": "single,2", "controller": {"apps": [str(app)]}}, tmp_path)
    walked = walk(scenario, 1, walks=3, output=tmp_path)
    for verdict in (proof.verdict, walked.verdict):
        assert verdict.result is Result.BOUNDED
        assert any(NO_ROUTE in reason for reason in verdict.reasons)


OWN = {
    "a server at the loopback address": (
        "with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "    socket.create_connection(server.getsockname(), 5).close()"
    ),
    "a server with IPv6": (
        "with socket.create_server(('::1', 0), family=socket.AF_INET6) as server:\n"
        "    socket.create_connection(server.getsockname()[:2], 5).close()"
    ),
    "an address that only a network has": "socket.create_server(('192.0.2.1', 0)).close()",
    "a name without a file": (
        "with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as caller:\n"
        "    server.bind('\\0own'); server.listen(); caller.connect('\\0own')"
    ),
    "a pair of sockets": "for end in socket.socketpair(): end.close()",
}


@pytest.mark.parametrize("what", OWN)
def test_what_a_program_has_of_its_own_is_there(tmp_path: Path, what: str) -> None:
    app = write_app(tmp_path, "packet", f"{OWN[what]}\nraise KeyError('after all')")
    result = check(app, topology="single,2", output=tmp_path / "traces")
    assert [violation.property for violation in result.violations] == ["ControllerCrash"], result
    assert "after all" in result.violations[0].message


def test_sockets_that_are_files_are_no_network(tmp_path: Path) -> None:
    place = tmp_path / "socket"
    heard = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()

        def serve() -> None:
            while True:
                session, _ = server.accept()
                with session:
                    heard.append(session.recv(10))
                if heard[-1] == b"end":
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        call = (
            f"with socket.socket(socket.AF_UNIX) as caller: caller.connect({str(place)!r}); caller.send(b'x')"
        )
        app = write_app(tmp_path, "packet", f"{call}\nraise KeyError('after all')")
        result = check(app, topology="single,2", output=tmp_path / "traces")
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(place))
            caller.send(b"end")
        thread.join()
    assert heard[0] == b"x"
    assert [violation.property for violation in result.violations] == ["ControllerCrash"], result
