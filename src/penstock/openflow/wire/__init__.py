"""OpenFlow on the wire: messages as bytes, versions 1.0 and 1.3, both directions.

`encode` and `decode` turn one whole message into bytes and back; a `Framer` cuts what a socket
delivers into whole messages.  The codec is about syntax.  It refuses, with the error that the
specification or else Open vSwitch 3.1 gives, bytes that make no message; whether a message makes sense
(a port exists, prerequisites are met, a value is in range) is for the switch to say.

Padding may hold anything, except after the value of a set-field, where Open vSwitch insists on
zeroes.  A vendor's messages, actions and instructions are kept as bytes.

Where Open vSwitch departs from the specification, the codec keeps to the latter.  It refuses in 1.3 the
match structure and the setters of 1.1, which Open vSwitch still takes; a mask on a field that has
none by the specification (a TCP port); a match field of the wrong length as a length problem and
not as an unknown field.  It does not read Nicira's match fields.  A message with several mistakes
may be refused for another of them, because Open vSwitch looks for mistakes of sense in between.
"""

from penstock.openflow.wire.codec import decode, encode
from penstock.openflow.wire.primitives import Framer

__all__ = ["Framer", "decode", "encode"]
