"""Everything an OpenFlow switch may refuse, with its number in each version.

A name stands for the same mistake in both versions; the pair is (1.0, 1.3), each an error type
and code, or None where that version has no such error.
"""

from __future__ import annotations

from enum import Enum

Code = tuple[int, int] | None


class ErrorCode(Enum):
    """Why a switch refuses a message."""

    HELLO_INCOMPATIBLE = ((0, 0), (0, 0))
    HELLO_EPERM = ((0, 1), (0, 1))

    BAD_VERSION = ((1, 0), (1, 0))
    BAD_TYPE = ((1, 1), (1, 1))
    BAD_STAT = ((1, 2), (1, 2))
    BAD_VENDOR = ((1, 3), (1, 3))
    BAD_SUBTYPE = ((1, 4), (1, 4))
    EPERM = ((1, 5), (1, 5))
    BAD_LEN = ((1, 6), (1, 6))
    BUFFER_EMPTY = ((1, 7), (1, 7))
    BUFFER_UNKNOWN = ((1, 8), (1, 8))
    BAD_TABLE_ID = (None, (1, 9))
    IS_SLAVE = ((1, 5), (1, 10))
    BAD_PORT = (None, (1, 11))
    BAD_PACKET = (None, (1, 12))
    MULTIPART_OVERFLOW = (None, (1, 13))

    ACTION_BAD_TYPE = ((2, 0), (2, 0))
    ACTION_BAD_LEN = ((2, 1), (2, 1))
    ACTION_BAD_VENDOR = ((2, 2), (2, 2))
    ACTION_BAD_VENDOR_TYPE = ((2, 3), (2, 3))
    ACTION_BAD_OUT_PORT = ((2, 4), (2, 4))
    ACTION_BAD_ARGUMENT = ((2, 5), (2, 5))
    ACTION_EPERM = ((2, 6), (2, 6))
    ACTION_TOO_MANY = ((2, 7), (2, 7))
    ACTION_BAD_QUEUE = ((2, 8), (2, 8))
    ACTION_BAD_OUT_GROUP = (None, (2, 9))
    ACTION_MATCH_INCONSISTENT = (None, (2, 10))
    ACTION_UNSUPPORTED_ORDER = (None, (2, 11))
    ACTION_BAD_TAG = (None, (2, 12))
    ACTION_BAD_SET_TYPE = (None, (2, 13))
    ACTION_BAD_SET_LEN = (None, (2, 14))
    ACTION_BAD_SET_ARGUMENT = (None, (2, 15))

    INSTRUCTION_UNKNOWN = (None, (3, 0))
    INSTRUCTION_UNSUPPORTED = (None, (3, 1))
    INSTRUCTION_BAD_TABLE_ID = (None, (3, 2))
    INSTRUCTION_UNSUPPORTED_METADATA = (None, (3, 3))
    INSTRUCTION_UNSUPPORTED_METADATA_MASK = (None, (3, 4))
    INSTRUCTION_BAD_EXPERIMENTER = (None, (3, 5))
    INSTRUCTION_BAD_EXPERIMENTER_TYPE = (None, (3, 6))
    INSTRUCTION_BAD_LEN = (None, (3, 7))
    INSTRUCTION_EPERM = (None, (3, 8))

    MATCH_BAD_TYPE = (None, (4, 0))
    MATCH_BAD_LEN = (None, (4, 1))
    MATCH_BAD_TAG = (None, (4, 2))
    MATCH_BAD_DL_ADDR_MASK = (None, (4, 3))
    MATCH_BAD_NW_ADDR_MASK = (None, (4, 4))
    MATCH_BAD_WILDCARDS = (None, (4, 5))
    MATCH_BAD_FIELD = (None, (4, 6))
    MATCH_BAD_VALUE = (None, (4, 7))
    MATCH_BAD_MASK = (None, (4, 8))
    MATCH_BAD_PREREQ = (None, (4, 9))
    MATCH_DUP_FIELD = (None, (4, 10))
    MATCH_EPERM = (None, (4, 11))

    FLOW_UNKNOWN = (None, (5, 0))
    FLOW_TABLE_FULL = ((3, 0), (5, 1))
    FLOW_BAD_TABLE_ID = (None, (5, 2))
    FLOW_OVERLAP = ((3, 1), (5, 3))
    FLOW_EPERM = ((3, 2), (5, 4))
    FLOW_BAD_TIMEOUT = ((3, 3), (5, 5))
    FLOW_BAD_COMMAND = ((3, 4), (5, 6))
    FLOW_BAD_FLAGS = (None, (5, 7))
    FLOW_UNSUPPORTED = ((3, 5), None)

    GROUP_EXISTS = (None, (6, 0))
    GROUP_INVALID = (None, (6, 1))
    GROUP_WEIGHT_UNSUPPORTED = (None, (6, 2))
    GROUP_OUT_OF_GROUPS = (None, (6, 3))
    GROUP_OUT_OF_BUCKETS = (None, (6, 4))
    GROUP_CHAINING_UNSUPPORTED = (None, (6, 5))
    GROUP_WATCH_UNSUPPORTED = (None, (6, 6))
    GROUP_LOOP = (None, (6, 7))
    GROUP_UNKNOWN = (None, (6, 8))
    GROUP_CHAINED = (None, (6, 9))
    GROUP_BAD_TYPE = (None, (6, 10))
    GROUP_BAD_COMMAND = (None, (6, 11))
    GROUP_BAD_BUCKET = (None, (6, 12))
    GROUP_BAD_WATCH = (None, (6, 13))
    GROUP_EPERM = (None, (6, 14))

    PORT_BAD_PORT = ((4, 0), (7, 0))
    PORT_BAD_HW_ADDR = ((4, 1), (7, 1))
    PORT_BAD_CONFIG = (None, (7, 2))
    PORT_BAD_ADVERTISE = (None, (7, 3))
    PORT_EPERM = (None, (7, 4))

    TABLE_BAD_TABLE = (None, (8, 0))
    TABLE_BAD_CONFIG = (None, (8, 1))
    TABLE_EPERM = (None, (8, 2))

    QUEUE_BAD_PORT = ((5, 0), (9, 0))
    QUEUE_BAD_QUEUE = ((5, 1), (9, 1))
    QUEUE_EPERM = ((5, 2), (9, 2))

    CONFIG_BAD_FLAGS = (None, (10, 0))
    CONFIG_BAD_LEN = (None, (10, 1))
    CONFIG_EPERM = (None, (10, 2))

    ROLE_STALE = (None, (11, 0))
    ROLE_UNSUPPORTED = (None, (11, 1))
    ROLE_BAD_ROLE = (None, (11, 2))

    METER_UNKNOWN = (None, (12, 0))
    METER_EXISTS = (None, (12, 1))
    METER_INVALID = (None, (12, 2))
    METER_UNKNOWN_METER = (None, (12, 3))
    METER_BAD_COMMAND = (None, (12, 4))
    METER_BAD_FLAGS = (None, (12, 5))
    METER_BAD_RATE = (None, (12, 6))
    METER_BAD_BURST = (None, (12, 7))
    METER_BAD_BAND = (None, (12, 8))
    METER_BAD_BAND_DETAIL = (None, (12, 9))
    METER_OUT_OF_METERS = (None, (12, 10))
    METER_OUT_OF_BANDS = (None, (12, 11))

    TABLE_FEATURES_BAD_TABLE = (None, (13, 0))
    TABLE_FEATURES_BAD_METADATA = (None, (13, 1))
    TABLE_FEATURES_BAD_TYPE = (None, (13, 2))
    TABLE_FEATURES_BAD_LEN = (None, (13, 3))
    TABLE_FEATURES_BAD_ARGUMENT = (None, (13, 4))
    TABLE_FEATURES_EPERM = (None, (13, 5))

    @property
    def title(self) -> str:
        """The name as people read it."""
        return self.name.lower().replace("_", "-")

    def code(self, version: int) -> tuple[int, int]:
        """Return the error type and code that say this in a version of the protocol."""
        pair: Code = self.value[0 if version == 1 else 1]
        return pair if pair is not None else (1, 5)


def name_of(version: int, kind: int, code: int) -> str:
    """Return the readable name of an error's numbers, or the numbers."""
    for refusal in ErrorCode:
        if refusal.value[0 if version == 1 else 1] == (kind, code):
            return refusal.title
    return f"type {kind} code {code}"


class OpenFlowError(Exception):
    """A message that a switch answers with an error; the text says what was wrong with it."""

    def __init__(self, refusal: ErrorCode, text: str = "") -> None:
        super().__init__(text or refusal.title)
        self.refusal = refusal
        self.reason = text
