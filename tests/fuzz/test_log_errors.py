"""Errors are found in controllers' logs, whatever the language, and whatever else is in them."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._fuzz.controller_errors import LoggedError, LogReader, plain, statement_of
from penstock._scenario.options import FuzzOptions, checked_pattern
from penstock.errors import PenstockError

KEY_ERROR = """\
Traceback (most recent call last):
  File "/opt/app.py", line 12, in packet_in
    self.forward(3)
    ~~~~~~~~~~~~^^^
  File "/opt/app.py", line 14, in forward
    raise KeyError(3)
KeyError: 3"""
VALUE_ERROR = KEY_ERROR.replace("KeyError", "ValueError").replace("line 14", "line 30")
FOUND = "raised KeyError at app.py line 14 in forward: KeyError: 3"


def errors(text: str, **options: list[str]) -> list[LoggedError]:
    reader = LogReader(**options)
    read = [error for line in text.split("\n") if line for error in reader.read(line)]
    return [*read, *reader.settle()]


def sentences(text: str, **options: list[str]) -> list[str]:
    return [error.sentence for error in errors(text, **options)]


@pytest.mark.parametrize(
    "text",
    [
        KEY_ERROR,
        f"hub: uncaught exception: {KEY_ERROR}",
        f"ERROR:app:the handler failed\n{KEY_ERROR}",
        f"ERROR:asyncio:Task exception was never retrieved\nfuture: <Task finished>\n{KEY_ERROR}",
        f"INFO:app:hello\n{KEY_ERROR}\nINFO:app:bye",
        "\n".join(f"2026-01-02 10:11:1{n} ERROR app {line}" for n, line in enumerate(KEY_ERROR.split("\n"))),
        "\n".join(chain.from_iterable((line, "INFO:app:s1") for line in KEY_ERROR.split("\n"))),
        "\n".join(chain.from_iterable((line, "s1: connected") for line in KEY_ERROR.split("\n"))),
        f"\x1b[31m{KEY_ERROR}\x1b[0m",
        f"{VALUE_ERROR}\nDuring handling of the above exception, another exception occurred:\n{KEY_ERROR}",
        f"{VALUE_ERROR}\nThe above exception was the direct cause of the following exception:\n{KEY_ERROR}",
    ],
)
def test_a_traceback_is_one_error_told_by_its_exception_and_its_place(text: str) -> None:
    assert sentences(text) == [FOUND]


def test_tracebacks_that_threads_print_at_once_are_one_error_each_without_their_frames() -> None:
    both = zip(KEY_ERROR.split("\n"), VALUE_ERROR.split("\n"), strict=True)
    assert sentences("\n".join(chain.from_iterable(both))) == [
        "raised KeyError: KeyError: 3",
        "raised ValueError: ValueError: 3",
    ]


def test_tracebacks_one_after_the_other_are_two_errors() -> None:
    assert [error.what for error in errors(f"{KEY_ERROR}\n{VALUE_ERROR}")] == ["KeyError", "ValueError"]


def test_an_exception_group_is_one_error() -> None:
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "x.py", line 3, in main
  |     raise ExceptionGroup("eg", [ValueError(1)])
  | ExceptionGroup: eg (1 sub-exception)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +------------------------------------"""
    assert sentences(text) == [
        "raised ExceptionGroup at x.py line 3 in main: ExceptionGroup: eg (1 sub-exception)"
    ]


def test_a_traceback_that_does_not_end_is_an_error_too() -> None:
    (found,) = errors("\n".join(KEY_ERROR.split("\n")[:-1]))
    assert found.what == "an exception with an incomplete traceback" and found.place.startswith("app.py")
    # However much is printed after it.
    (found,) = errors("\n".join([*KEY_ERROR.split("\n")[:-1], *["heard something"] * 300]))
    assert found.what == "an exception with an incomplete traceback"


@pytest.mark.parametrize(
    "line",
    [
        "Nov 16 21:35:39 faucet ERROR    DPID 1 (0x1) no such port",
        "ERROR:openflow.of_01:[00-00-00-00-00-01 1] OpenFlow Error:",
        "CRITICAL:app:giving up",
        "2026-01-02T10:11:12.123Z|00012|rconn|ERR|tcp:127.0.0.1:6653: failed",
        "10:11:12.123 [main] ERROR o.o.Controller - cannot install",
        "SEVERE: cannot install",
        "E1116 21:35:39.123456 12 controller.cc:31] cannot install",
        'time="10:11" level=error msg="cannot install"',
        "[error] cannot install",
        "controller: error: cannot bind",
        "controller: main.c:12: main: Assertion `n > 0' failed.",
        "Segmentation fault (core dumped)",
        "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010",
        "*** stack smashing detected ***: terminated",
        "terminate called after throwing an instance of 'std::out_of_range'",
        "main.c:3:5: runtime error: signed integer overflow",
        "panic: runtime error: index out of range",
        "thread 'main' panicked at src/main.rs:3:5",
        "app.rb:12:in `packet_in': undefined method `x' (NoMethodError)",
        "TypeError: x is not a function",
    ],
)
def test_lines_that_are_errors(line: str) -> None:
    (found,) = errors(f"hello\n{line}\nbye")
    assert found.text == line and ":" not in found.what


@pytest.mark.parametrize(
    "line",
    [
        "INFO:app:the switch sent an ERROR message",
        "DEBUG got OFPT_ERROR",
        "WARNING:app:ERROR-prone configuration",
        "heard Error(BAD_REQUEST, BAD_TYPE)",
        "no errors found",
        "errors=0",
        "the last error was mended",
        "ERRORS: 0",
        "loading java.lang.Exception handlers",
        "|00001|vconn|WARN|connection refused",
    ],
)
def test_lines_that_are_none(line: str) -> None:
    assert errors(line) == []


def test_a_stack_trace_of_java_is_one_error_with_its_first_frame() -> None:
    text = """\
10:11:12 ERROR Controller - cannot install
java.lang.IllegalStateException: port 7
\tat net.Controller.install(Controller.java:12)
\tat net.Controller.main(Controller.java:2)
Caused by: java.io.IOException: closed
\tat net.Line.write(Line.java:9)
bye"""
    assert sentences(text) == [
        "raised java.lang.IllegalStateException at net.Controller.install: "
        "java.lang.IllegalStateException: port 7"
    ]
    (found,) = errors('Exception in thread "main" java.lang.Error: x\n\tat a.B.c(B.java:1)')
    assert found.place == "a.B.c"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ERROR port 3 of 00:00:00:00:00:01 at 0x7f01", "ERROR port 17 of 0a:00:00:00:00:ff at 0x9"),
        ("2026-01-02 10:11:12,345 ERROR no 'h1'", "2026-11-22 01:02:03,001 ERROR no 'h22'"),
        ("ERROR 10.0.0.1:6653 is gone", "ERROR 10.0.12.254:1 is gone"),
        ("ERROR id 0123456789abcdef", "ERROR id fedcba9876543210"),
    ],
)
def test_errors_that_differ_in_numbers_addresses_and_quoted_texts_are_the_same(one: str, other: str) -> None:
    assert statement_of(one) == statement_of(other) != statement_of("ERROR something else")


def test_patterns_of_a_scenario_add_errors_and_take_some_out() -> None:
    text = "POX failed at 3\nPOX started at 3\nERROR old friend\nERROR new"
    options = {"patterns": ["POX failed*3"], "ignored": ["ERROR * friend"]}
    assert [error.text for error in errors(text, **options)] == ["POX failed at 3", "ERROR new"]


def test_an_ignored_exception_is_ignored_with_its_traceback() -> None:
    assert errors(f"ERROR:app:failed\n{KEY_ERROR}\nbye", ignored=["KeyError: *"]) == []


@pytest.mark.parametrize("pattern", ["^FATAL", "done.$", "a.*b", "\\d+", "a.+"])
def test_a_regular_expression_is_refused_in_a_sentence(pattern: str) -> None:
    with pytest.raises(
        PenstockError, match=r"looks like a regular expression: write plain text, in which \*"
    ):
        FuzzOptions(error_patterns=[pattern])


def test_a_pattern_without_text_is_refused() -> None:
    for pattern in ("", " ** "):
        with pytest.raises(PenstockError, match="has an empty pattern"):
            checked_pattern(pattern, "ignored_errors")


@given(st.lists(st.text(max_size=1000), max_size=20))
def test_any_log_can_be_read_and_nothing_that_steers_a_terminal_is_told(lines: list[str]) -> None:
    reader = LogReader()
    found = [*chain.from_iterable(map(reader.read, lines)), *reader.settle()]
    for error in found:
        assert all(c.isprintable() or c == "\t" for c in error.sentence)
        assert ":" not in error.what + error.place
    assert not reader.is_amid


def test_escapes_are_taken_out_and_other_control_characters_spelt_out() -> None:
    assert plain("\x1b[1;31mERROR\x1b[0m \x1b]0;title\x07x\x00\x08") == r"ERROR x\x00\x08"


def test_tracebacks_that_begin_and_never_end_take_little_memory() -> None:
    reader = LogReader()
    found = [error for _ in range(10_000) for error in reader.read("Traceback (most recent call last):")]
    assert len(found) > 9_900 and len([*reader.settle()]) == 10_000 - len(found)
