"""The two benchmarks of the codec do what they say: a small run of each."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from random import Random
from typing import get_args

import pytest
from bench.codec_samples import LONGEST, SAMPLES

from bench import codec, codec_fuzz
from penstock.openflow import messages, stats
from penstock.openflow.messages import V13, OpenFlowMessage
from penstock.openflow.wire import Framer, encode


def every_kind() -> Iterator[str]:
    for member in vars(messages).values():
        if inspect.isclass(member) and issubclass(member, OpenFlowMessage) and member is not OpenFlowMessage:
            yield member.__name__
    yield from (f"StatsRequest({body.__name__})" for body in get_args(stats.StatsRequestBody))
    yield from (f"StatsReply({body.__name__})" for body in get_args(stats.StatsReplyBody))


def test_there_is_a_sample_of_every_kind_of_message() -> None:
    assert {codec_fuzz.kind_of(message) for message in SAMPLES[V13]} == set(every_kind())


def test_the_longest_samples_almost_fill_a_message() -> None:
    sizes = [len(encode(message, version)) for version, samples in LONGEST.items() for message in samples]
    assert all(60_000 < size <= 65_535 for size in sizes)


def test_mutated_messages_are_decoded_or_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(codec_fuzz, "LIMIT_MS", 1e6)
    status = codec_fuzz.main(["--messages", "5000", "--seed", "3", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (status, result["other"], result["wrong"]) == (0, 0, [])
    assert result["decoded"] + result["refused"] == 5000
    assert set(result["kinds"]) == set(every_kind())
    assert len(result["refusals"]) >= 15


def test_a_run_can_be_repeated_from_its_seed() -> None:
    first, again, other = (codec_fuzz.run(500, seed) for seed in (1, 1, 2))
    assert first.refusals == again.refusals
    assert first.refusals != other.refusals


def test_what_is_neither_a_message_nor_a_refusal_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes) -> OpenFlowMessage:
        raise IndexError("index out of range")

    monkeypatch.setattr(codec_fuzz, "LIMIT_MS", 1e6)
    monkeypatch.setattr(codec_fuzz, "decode", broken)
    assert codec_fuzz.main(["--messages", "10"]) == 1


def test_a_slow_answer_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec_fuzz, "LIMIT_MS", 0.0)
    assert codec_fuzz.main(["--messages", "10"]) == 1


def test_a_framer_that_loses_a_message_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [encode(message, V13) for message in SAMPLES[V13][:4]]
    monkeypatch.setattr(Framer, "feed", lambda self, data: [])
    tally = codec_fuzz.Tally()
    codec_fuzz.judge_stream(Random(1), whole, tally)
    assert tally.wrong == ["a framer changed a sound stream"]


def test_the_typical_messages_are_measured_beside_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(codec, "best", lambda call: 5.0 if call() is not None else 0.0)
    assert codec.main(["--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 2 * 2 * len(codec.TYPICAL)
    assert {row["limit_us"] for row in rows} == {20.0, 60.0}
    assert all(row["python_openflow_us"] is not None for row in rows)
    by_osken = {(row["message"], row["does"]) for row in rows if row["os_ken_us"] is not None}
    assert by_osken == {
        ("PacketIn", "decode"),
        ("PacketOut", "encode"),
        ("BarrierRequest", "encode"),
        ("BarrierReply", "decode"),
        ("FlowMod", "encode"),
        ("FlowMod", "decode"),
    }


def test_a_broken_limit_fails_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(codec, "best", lambda call: 30.0)
    assert codec.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sum("FAIL (limit 20)" in line for line in lines) == 16
    assert sum("pass (limit 60)" in line for line in lines) == 4
