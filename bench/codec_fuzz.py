"""Mutated OpenFlow messages: each must decode or be refused with a clear sentence, and quickly.

    python -m bench.codec_fuzz [--messages 200000] [--seed 1] [--json]

Valid messages of every kind are damaged: bits flipped, cut short, lengths overwritten, spliced,
parts repeated or replaced by noise.  One in a thousand is as long as a message can be and made of
the smallest parts there are, which is what takes longest to read.  What still decodes must
be readable (`str`), encode again, and decode from that to the same value.  Every message also passes
through a `Framer`, many in one stream that arrives in pieces.

An answer slower than the limit is timed twice more and counts with its best time, so that a pause
of the machine is not taken for one of the codec.  Exit status 1 if anything but a message or a
refusal comes out, or an answer takes 50 ms.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from bench.codec_samples import LONGEST, SAMPLES
from penstock.openflow.error_codes import OpenFlowError
from penstock.openflow.messages import OpenFlowMessage
from penstock.openflow.stats import StatsReply, StatsRequest
from penstock.openflow.wire import Framer, decode, encode

LIMIT_MS = 50.0
STREAM = 32
"""How many messages share one stream."""

_MAX = 0xFFFF
_TEMPTING = (0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 32, 40, 0x7FFF, 0x8000, 0xFFF8, 0xFFFF)
_RARELY = 0.001
_REPORTED = 5


@dataclass(slots=True)
class Tally:
    """What came of the messages so far."""

    decoded: int = 0
    refused: int = 0
    slowest: float = 0.0
    refusals: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """What should never happen, with the bytes that made it happen."""

    def timed(self, answer: Callable[[], Any]) -> Any:
        """Return an answer, minding how long it took."""
        begin = time.perf_counter()
        result = answer()
        taken = time.perf_counter() - begin
        if taken * 1000 >= LIMIT_MS:
            for _ in range(2):
                begin = time.perf_counter()
                answer()
                taken = min(taken, time.perf_counter() - begin)
        self.slowest = max(self.slowest, taken)
        return result


def kind_of(message: OpenFlowMessage) -> str:
    """Return a message's class, for statistics with that of its body."""
    name = type(message).__name__
    if isinstance(message, StatsRequest | StatsReply):
        return f"{name}({type(message.body).__name__})"
    return name


def _flip(rng: Random, data: bytearray) -> None:
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _cut(rng: Random, data: bytearray) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _overwrite_length(rng: Random, data: bytearray) -> None:
    at = rng.randrange(0, len(data) - 1, 2)
    near = int.from_bytes(data[at : at + 2]) + rng.randint(-9, 9)
    value = near & 0xFFFF if rng.random() < 0.5 else rng.choice(_TEMPTING)
    data[at : at + 2] = value.to_bytes(2)


def _noise(rng: Random, data: bytearray) -> None:
    data[8:] = rng.randbytes(rng.choice((0, 1, 7, 8, 40, 200)))


def _repeat(rng: Random, data: bytearray) -> None:
    start = rng.randrange(8, len(data)) if len(data) > 8 else 0
    part = data[start : start + rng.choice((4, 8, 16, 40, 64))] or bytearray(8)
    times = (_MAX - len(data)) // len(part) if rng.random() < _RARELY else rng.randint(1, 4)
    data[start:start] = part * times


_MUTATIONS = (_flip, _cut, _overwrite_length, _noise, _repeat)


def mutated(rng: Random, pool: Sequence[bytes]) -> bytes:
    """Return a damaged message; most say their true length, so that the damage is found further in."""
    data = bytearray(rng.choice(pool))
    if rng.random() < 0.2:
        other = rng.choice(pool)
        data[rng.randrange(len(data)) :] = other[rng.randrange(len(other)) :]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        if len(data) >= 2:
            rng.choice(_MUTATIONS)(rng, data)
    del data[_MAX:]
    if len(data) >= 4 and rng.random() < 0.95:
        data[2:4] = len(data).to_bytes(2)
    return bytes(data)


def judge(data: bytes, tally: Tally) -> None:
    """Decode a message and see that what comes out is sound."""
    try:
        message = tally.timed(partial(_decoded, data))
    except Exception as error:
        tally.wrong.append(f"{type(error).__name__}: {error} from {data[:80].hex()}")
        return
    if isinstance(message, OpenFlowError):
        tally.refused += 1
        tally.refusals[message.refusal.name] += 1
        if not str(message).endswith("."):
            tally.wrong.append(f"no sentence: {message} from {data[:80].hex()}")
        return
    tally.decoded += 1
    tally.kinds[kind_of(message)] += 1
    try:
        again = decode(encode(message, data[0]))
    except Exception as error:
        tally.wrong.append(f"{type(error).__name__}: {error} when {message!r} is encoded again"[:400])
        return
    if again != message or hash(again) != hash(message) or not str(message):
        tally.wrong.append(f"{message!r} came back as {again!r}"[:800])


def _decoded(data: bytes) -> OpenFlowMessage | OpenFlowError:
    try:
        return decode(data)
    except OpenFlowError as refused:
        return refused


def judge_stream(rng: Random, messages: list[bytes], tally: Tally) -> None:
    """Send messages through one stream in pieces, and see that they come out whole or not at all."""
    framer = Framer()
    stream = b"".join(messages)
    sound = all(len(data) >= 8 and int.from_bytes(data[2:4]) == len(data) for data in messages)
    out: list[bytes] = []
    at = 0
    try:
        while at < len(stream):
            piece = stream[at : at + rng.choice((1, 7, 8, 100, 1500, 70000))]
            at += len(piece)
            out += tally.timed(partial(framer.feed, piece))
            if framer.held > _MAX:
                tally.wrong.append(f"a framer holds {framer.held} bytes")
    except OpenFlowError:
        if sound:
            tally.wrong.append("a framer refused a sound stream")
    except Exception as error:
        tally.wrong.append(f"{type(error).__name__}: {error} from a framer")
    if sound and out != messages:
        tally.wrong.append("a framer changed a sound stream")
    if b"".join(out) != stream[: sum(map(len, out))]:
        tally.wrong.append("a framer made messages up")


def _encoded(samples: dict[int, tuple[OpenFlowMessage, ...]]) -> list[bytes]:
    return [encode(message, version) for version, messages in samples.items() for message in messages]


def run(count: int, seed: int, progress: Callable[[int], None] = lambda _: None) -> Tally:
    """Judge so many mutated messages."""
    rng = Random(seed)
    pool, longest = _encoded(SAMPLES), _encoded(LONGEST)
    tally = Tally()
    stream: list[bytes] = []
    for done in range(count):
        data = mutated(rng, longest if rng.random() < _RARELY else pool)
        judge(data, tally)
        stream.append(data)
        if len(stream) == STREAM:
            judge_stream(rng, stream, tally)
            stream.clear()
        if done % 1000 == 0:
            progress(done)
    return tally


def report(tally: Tally, seed: int, seconds: float) -> dict[str, Any]:
    """Return what a run came to, as the command prints it."""
    return {
        "messages": tally.decoded + tally.refused,
        "seed": seed,
        "decoded": tally.decoded,
        "refused": tally.refused,
        "other": len(tally.wrong),
        "slowest_ms": round(tally.slowest * 1000, 3),
        "limit_ms": LIMIT_MS,
        "seconds": round(seconds, 1),
        "refusals": dict(tally.refusals.most_common()),
        "kinds": dict(sorted(tally.kinds.items())),
        "wrong": tally.wrong[:_REPORTED],
    }


def _show_progress(total: int) -> Callable[[int], None]:
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda done: print(f"\r{done:,} of {total:,} messages", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.codec_fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--messages", type=int, default=200_000, help="how many messages (200,000)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    begin = time.perf_counter()
    tally = run(given.messages, given.seed, _show_progress(given.messages))
    result = report(tally, given.seed, time.perf_counter() - begin)
    if sys.stderr.isatty():
        print("\r" + " " * 40, end="\r", file=sys.stderr)
    if given.json:
        print(json.dumps(result))
    else:
        print(
            f"{result['messages']:,} mutated messages in {result['seconds']} s: {tally.decoded:,} decoded"
            f" ({len(tally.kinds)} kinds), {tally.refused:,} refused ({len(tally.refusals)} ways),"
            f" {len(tally.wrong)} anything else; slowest answer {result['slowest_ms']} ms of {LIMIT_MS:g}"
        )
        for line in tally.wrong[:_REPORTED]:
            print(f"  {line}")
    return 1 if tally.wrong or tally.slowest * 1000 >= LIMIT_MS else 0


if __name__ == "__main__":
    sys.exit(main())
