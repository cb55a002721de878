"""Small os-ken programs that crash for one packet, told apart in an unusual way: truth by construction.

`programs()` yields them with what is true of each.  Those of the kind `classes` crash when the packet
comes; those of the kind `kept` keep something of it without a branch, and crash when the next packet comes.
`bug` means that a run within the scenario breaks `ControllerCrash`, `safe` that none does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.soundness.programs import Program, table_of

_APP = """
import argparse, array, ast, base64, binascii, bisect, calendar, codecs, collections, copy, ctypes
import dataclasses, decimal, enum, fnmatch, fractions, functools, hashlib, heapq, io, ipaddress
import itertools, json, math, operator, pickle, re, shlex, socket, statistics, string, struct
import textwrap, time, types, typing, urllib.parse, uuid, zlib
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import addrconv, ip as ip_lib, mac as mac_lib
from os_ken.lib.packet import arp, ethernet, ipv4, ipv6, packet, tcp, udp
from os_ken.ofproto import ofproto_v1_3

{prelude}

class App(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.k = {initial}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, ev):
        dp = ev.msg.datapath
        p, o = dp.ofproto_parser, dp.ofproto
        actions = [p.OFPActionOutput(o.OFPP_CONTROLLER, o.OFPCML_NO_BUFFER)]
        inst = [p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, actions)]
        dp.send_msg(p.OFPFlowMod(datapath=dp, priority=0, match=p.OFPMatch(), instructions=inst))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        msg = ev.msg
        dp = msg.datapath
        p, o = dp.ofproto_parser, dp.ofproto
        in_port, data = msg.match["in_port"], msg.data
        pkt = packet.Packet(data)
        eth = pkt.get_protocol(ethernet.ethernet)
        i4, u, t = (pkt.get_protocol(kind) for kind in (ipv4.ipv4, udp.udp, tcp.tcp))
        if {test}:
            raise RuntimeError("the bug")
        {store}
        dp.send_msg(p.OFPPacketOut(datapath=dp, buffer_id=msg.buffer_id, in_port=in_port,
                                   actions=[p.OFPActionOutput(o.OFPP_FLOOD)], data=data))
"""

_CLASSES: dict[str, tuple[str, str]] = {
    # Identity and truth.
    "is_true": ("", "u and (u.dst_port == 12345) is True"),
    "is_not_false": ("", "u and (u.dst_port == 12345) is not False"),
    "is_small": ("", "i4 and i4.proto is 89"),
    "operator_is": ("", "i4 and operator.is_(i4.proto, 89)"),
    "chained_is": ("", "i4 and 5 < i4.proto is 89"),
    "bool_left": ("", "u and True == (u.dst_port == 12345)"),
    "true_times": ("", "u and True * u.dst_port == 12345"),
    "truth_value_key": ("T = {True: 1, False: 0}", "u and T[u.dst_port == 12345]"),
    "truth_index": ("", "u and (0, 1)[u.dst_port == 12345]"),
    "all_any": ("", "u and all([u.dst_port > 12344, any([u.dst_port < 12346])])"),
    "xor_truth": ("", "u and (u.dst_port == 12345) ^ False"),
    "bool_str": ("", "u and str(u.dst_port == 12345) == 'True'"),
    # Keys with an equality of their own.
    "own_key": (
        "class K:\n    def __init__(self, p): self.p = p\n    def __eq__(self, o): return self.p == o.p\n"
        "    def __hash__(self): return hash(self.p)\nT = {K(12345): 1}",
        "u and K(u.dst_port) in T",
    ),
    "own_key_get": (
        "class K:\n    __slots__ = ('p',)\n    def __init__(self, p): self.p = p\n"
        "    def __hash__(self): return 7\n"
        "    def __eq__(self, o): return self.p == o.p\nT = {K(12345): 1}",
        "u and T.get(K(u.dst_port))",
    ),
    "own_key_set": (
        "class K:\n    def __init__(self, p): self.p = p\n"
        "    def __eq__(self, o): return self.p % 20000 == o.p\n"
        "    def __hash__(self): return 1\nT = {K(12345)}",
        "u and K(u.dst_port) in T",
    ),
    "frozen_key": (
        "@dataclasses.dataclass(frozen=True)\nclass K:\n    p: int\nT = {K(12345): 1}",
        "u and K(u.dst_port) in T",
    ),
    "named_key": ("K = collections.namedtuple('K', 'p q')\nT = {K(12345, 1)}", "u and K(u.dst_port, 1) in T"),
    "frozenset_key": ("T = {frozenset({1, 12345})}", "u and frozenset({1, u.dst_port}) in T"),
    "own_order": (
        "@functools.total_ordering\nclass V:\n    def __init__(self, p): self.p = p\n"
        "    def __eq__(self, o): return self.p == o.p\n    def __lt__(self, o): return self.p < o.p",
        "u and not (V(u.dst_port) < V(12345) or V(u.dst_port) > V(12345))",
    ),
    "own_contains": (
        "class R:\n    def __contains__(self, p): return p == 12345",
        "u and u.dst_port in R()",
    ),
    "own_getitem": (
        "class R:\n    def __getitem__(self, p): return {12345: 1}.get(p)",
        "u and R()[u.dst_port]",
    ),
    "own_call": ("class F:\n    def __call__(self, p): return p == 12345", "u and F()(u.dst_port)"),
    "own_missing": (
        "class D(dict):\n    def __missing__(self, p): return p == 12345\nD = D()",
        "u and D[u.dst_port]",
    ),
    "own_int": ("class N(int):\n    pass", "u and N(u.dst_port) == 12345"),
    # Containers.
    "defaultdict": ("D = collections.defaultdict(int)\nD[12345] = 5", "u and D[u.dst_port] == 5"),
    "chainmap": ("D = collections.ChainMap({}, {12345: 5})", "u and D.get(u.dst_port) == 5"),
    "chainmap_item": ("D = collections.ChainMap({}, {12345: 5})", "u and u.dst_port in D and D[u.dst_port]"),
    "userdict": ("D = collections.UserDict({12345: 5})", "u and u.dst_port in D"),
    "counter": ("", "u and collections.Counter([u.dst_port, 12345]).most_common(1)[0][1] == 2"),
    "ordereddict": ("D = collections.OrderedDict([(12345, 5)])", "u and D.get(u.dst_port)"),
    "mappingproxy": ("D = types.MappingProxyType({12345: 5})", "u and D.get(u.dst_port)"),
    "deque": ("", "u and u.dst_port in collections.deque([1, 12345])"),
    "set_and": ("", "u and {u.dst_port} & {12345, 5}"),
    "set_equal": ("", "u and {u.dst_port, 7} == {12345, 7}"),
    "set_less": ("", "u and {u.dst_port} < {12345, 7}"),
    "dict_equal": ("", "u and {u.dst_port: 1} == {12345: 1}"),
    "list_equal": ("", "u and [1, [u.dst_port]] == [1, [12345]]"),
    "keys_view": ("", "u and {u.dst_port: 1}.keys() & {12345}"),
    "fromkeys": ("", "u and 12345 in dict.fromkeys([u.dst_port])"),
    "setdefault": ("", "u and len((lambda d: (d.setdefault(u.dst_port), d)[1])({12345: 1})) == 1"),
    "bisect": ("L = [12345, 12346]", "u and bisect.bisect_right(L, u.dst_port) == 1"),
    "heap": ("", "u and heapq.nsmallest(1, [u.dst_port - 12345 if u.dst_port > 12344 else 99])[0] == 0"),
    "sorted_key": ("", "u and sorted([12345, u.dst_port], key=lambda n: -n) == [12345, 12345]"),
    "itemgetter": ("", "u and operator.itemgetter(12345)(collections.defaultdict(int, {u.dst_port: 1}))"),
    "methodcaller": ("", "u and operator.methodcaller('get', u.dst_port)({12345: 1})"),
    "list_index": ("", "u and [12345, u.dst_port].index(u.dst_port) == 0"),
    "slice_step": ("L = [0] * 12345 + [1]", "u and u.dst_port < 12346 and L[u.dst_port]"),
    "range_in": ("", "u and u.dst_port in range(12345, 20000, 9999)"),
    "zip_map": ("", "u and list(map(operator.eq, [u.dst_port], [12345]))[0]"),
    "starmap": ("", "u and next(itertools.starmap(lambda a, b: a - b, [(u.dst_port, 12345)])) == 0"),
    "reduce": ("", "u and functools.reduce(lambda a, b: a * 256 + b, data[36:38]) == 12345"),
    "takewhile": ("", "u and len(list(itertools.takewhile({12345: 1}.get, [u.dst_port]))) == 1"),
    "partial": ("", "u and functools.partial(operator.eq, 12345)(u.dst_port)"),
    "cached": ("@functools.lru_cache(None)\ndef f(p): return p == 12345", "u and f(u.dst_port)"),
    "single_dispatch": (
        "@functools.singledispatch\ndef f(p): return False\n@f.register\ndef _(p: int): return p == 12345",
        "u and f(u.dst_port)",
    ),
    "islice": ("", "i4 and len(list(itertools.islice([0] * 300, i4.proto))) == 89"),
    "repeat_text": ("", "i4 and len('x' * (i4.proto % 40)) == 9 and i4.proto == 89"),
    # Enumerations, patterns, attributes.
    "intenum_left": ("class P(enum.IntEnum):\n    X = 12345", "u and P.X == u.dst_port"),
    "enum_lookup": (
        "class P(enum.Enum):\n    X = 12345\ndef f(p):\n    try:\n        return P(p) is P.X\n"
        "    except ValueError:\n"
        "        return False",
        "u and f(u.dst_port)",
    ),
    "flag_and": ("class F(enum.IntFlag):\n    A = 1\n    B = 32", "t and F.B & t.bits and t.bits == 33"),
    "match_value": (
        "def f(p):\n    match p:\n        case 12345:\n            return True\n    return False",
        "u and f(u.dst_port)",
    ),
    "match_truth": (
        "def f(p):\n    match (p == 12345, 1):\n        case (True, 1):\n            return True\n"
        "    return False",
        "u and f(u.dst_port)",
    ),
    "match_dict": (
        "def f(p):\n    match {'port': p}:\n        case {'port': 12345}:\n            return True\n"
        "    return False",
        "u and f(u.dst_port)",
    ),
    "match_guard": (
        "def f(p):\n    match p:\n        case int(n) if n % 20000 == 12345:\n            return True\n"
        "    return False",
        "u and f(u.dst_port)",
    ),
    "getattr_name": ("class H:\n    port_12345 = 1", "u and getattr(H, f'port_{u.dst_port}', 0)"),
    "globals_name": ("port_12345 = 1", "u and globals().get('port_%d' % u.dst_port)"),
    "two_lambdas": ("F = (lambda p: p in {1: 0}), (lambda p: p in {12345: 1})", "u and F[1](u.dst_port)"),
    "default_lambda": ("def f(p, g=lambda n: n in {12345: 1}): return g(p)", "u and f(u.dst_port)"),
    "closure": ("def make(n):\n    return lambda p: p in {n: 1}\nF = make(12345)", "u and F(u.dst_port)"),
    "generator": (
        "def g(p):\n    while True:\n        yield p in {12345: 1}",
        "u and next(g(u.dst_port))",
    ),
    "decorated": (
        "def d(f):\n    @functools.wraps(f)\n    def w(*a):\n        return f(*a)\n    return w\n@d\n"
        "def f(p): return p in {12345: 1}",
        "u and f(u.dst_port)",
    ),
    "evaluated": ("", "u and eval('u.dst_port in {12345: 1}')"),
    "evaluated_text": ("", "u and eval(f'{u.dst_port} == 12345')"),
    "executed": (
        "def f(p):\n    found = {}\n    exec('r = p in {12345: 1}', {'p': p}, found)\n    return found['r']",
        "u and f(u.dst_port)",
    ),
    # Numbers.
    "divmod": ("", "u and divmod(u.dst_port, 1000) == (12, 345)"),
    "pow_mod": ("", "u and pow(u.dst_port, 1) == 12345"),
    "bit_length": ("", "i4 and i4.proto.bit_length() == 8 and i4.proto & 127 == 70"),
    "bit_count": ("", "u and u.dst_port.bit_count() == 16"),
    "true_division": ("", "u and u.dst_port / 5 == 2469.0"),
    "float_compare": ("", "u and 12344.5 < u.dst_port < 12345.5"),
    "float_of": ("", "u and float(u.dst_port) == 12345.0"),
    "sqrt": ("", "u and math.sqrt(u.dst_port) == 111.0"),
    "isqrt": ("", "u and math.isqrt(u.dst_port) == 111 and u.dst_port % 100 == 45"),
    "gcd": ("", "u and math.gcd(u.dst_port, 24690) == 12345"),
    "fraction": ("", "u and fractions.Fraction(u.dst_port, 5) == 2469"),
    "decimal": ("", "u and decimal.Decimal(u.dst_port) == 12345"),
    "round_to": ("", "u and round(u.dst_port, -2) == 12300 and u.dst_port % 100 == 45"),
    "hash_of": ("", "u and hash(u.dst_port) == 12345"),
    "statistics": ("", "u and statistics.median([1, u.dst_port, 65535]) == 12345"),
    "sum_of": ("", "u and sum(data[36:38]) == 0x30 + 0x39 and data[36] == 0x30"),
    "max_of": ("", "u and max(u.dst_port, 12345) == min(u.dst_port, 12345)"),
    # Bytes.
    "raw_type": ("", "data[12:14] == b'\\x99\\x99'"),
    "raw_port": ("", "u and data[36:38] == b'\\x30\\x39'"),
    "reversed_bytes": ("", "u and bytes(reversed(data[36:38])) == b'\\x39\\x30'"),
    "unpack_from": ("", "u and struct.unpack_from('!H', data, 36)[0] == 12345"),
    "pack": ("", "u and struct.pack('!H', u.dst_port) == b'\\x30\\x39'"),
    "from_bytes": ("", "u and int.from_bytes(data[36:38], 'big') == 12345"),
    "to_bytes": ("", "u and u.dst_port.to_bytes(2, 'little') == b'\\x39\\x30'"),
    "memoryview": ("", "u and memoryview(data)[36:38] == b'\\x30\\x39'"),
    "bytearray": ("", "u and bytearray(data)[36:38] == b'\\x30\\x39'"),
    "array_of": ("", "u and array.array('H', [u.dst_port])[0] == 12345"),
    "bytes_io": ("", "u and io.BytesIO(data).getvalue()[36:38] == b'\\x30\\x39'"),
    "hexlify": ("", "u and binascii.hexlify(data[36:38]) == b'3039'"),
    "base64": ("", "u and base64.b64encode(struct.pack('!H', u.dst_port)) == b'MDk='"),
    "crc": ("", "u and zlib.crc32(struct.pack('!H', u.dst_port)) == 0xC19AAC04"),
    "md5": (
        "X = hashlib.md5(b'09').hexdigest()",
        "u and hashlib.md5(struct.pack('!H', u.dst_port)).hexdigest() == X",
    ),
    "ctypes_number": ("", "u and ctypes.c_uint16(u.dst_port).value == 12345"),
    "ctypes_fields": (
        "class S(ctypes.Structure):\n    _fields_ = [('p', ctypes.c_uint16)]\ndef f(p):\n    s = S()\n"
        "    s.p = p\n"
        "    return s.p == 12345",
        "u and f(u.dst_port)",
    ),
    "htons": ("", "u and socket.htons(u.dst_port) == 14640"),
    "find_bytes": ("", "u and data[34:38].endswith(b'\\x30\\x39')"),
    # Texts.
    "rstrip": ("", "u and str(u.dst_port).rstrip('5') == '1234'"),
    "casefold": ("", "f'P{u.dst_port if u else 0}'.casefold() == 'p12345'"),
    "zfill": ("", "u and str(u.dst_port).zfill(6) == '012345'"),
    "percent": ("", "u and '%05d' % u.dst_port == '12345'"),
    "str_format": ("", "u and '{:>7}'.format(u.dst_port) == '  12345'"),
    "f_string": ("", "u and f'{u.dst_port:x}' == '3039'"),
    "template": ("T = string.Template('port $p')", "u and T.substitute(p=u.dst_port) == 'port 12345'"),
    "join": ("", "u and '-'.join(str(u.dst_port)) == '1-2-3-4-5'"),
    "reversed_text": ("", "u and str(u.dst_port)[::-1] == '54321'"),
    "translate": ("T = str.maketrans('12345', 'abcde')", "u and str(u.dst_port).translate(T) == 'abcde'"),
    "regex": ("", "u and re.fullmatch(r'1234[5]', str(u.dst_port))"),
    "regex_sub": (
        "",
        "u and re.sub('[0-4]', '', str(u.dst_port)) == '5' and str(u.dst_port).startswith('1234')",
    ),
    "literal_eval": ("", "u and ast.literal_eval(str(u.dst_port)) == 12345"),
    "json_dumps": ("", "u and json.dumps({'p': u.dst_port}) == '{\"p\": 12345}'"),
    "json_loads": ("", "u and json.loads(str(u.dst_port)) == 12345"),
    "pickle": ("", "u and pickle.loads(pickle.dumps(u.dst_port)) == 12345"),
    "int_of_text": ("", "u and int(str(u.dst_port), 8 if '9' in str(u.dst_port) else 10) == 12345"),
    "hex_of": ("", "u and hex(u.dst_port) == '0x3039'"),
    "bin_of": ("", "u and bin(u.dst_port) == '0b11000000111001'"),
    "chr_of": ("", "u and chr(u.dst_port) == '\\u3039'"),
    "fnmatch": ("", "u and fnmatch.fnmatchcase(str(u.dst_port), '1234[5]')"),
    "textwrap": ("", "u and textwrap.shorten(str(u.dst_port), 9) == '12345'"),
    "shlex": ("", "u and shlex.split(f'x {u.dst_port}')[1] == '12345'"),
    "quote": ("", "u and urllib.parse.quote(str(u.dst_port)) == '12345'"),
    "codecs": ("", "u and codecs.encode(str(u.dst_port), 'rot13') == '12345'"),
    "string_io": ("", "u and io.StringIO(str(u.dst_port)).read() == '12345'"),
    "last_octet": ("", "i4 and i4.dst.split('.')[-1] == '77'"),
    "ip_network": ("N = ipaddress.ip_network('10.7.0.0/16')", "i4 and ipaddress.ip_address(i4.dst) in N"),
    "mac_prefix": ("", "eth.dst.upper().startswith('AA:BB')"),
    "inet_aton": ("", "i4 and socket.inet_aton(i4.dst) == b'\\x0a\\x07\\x00\\x01'"),
    "ip_library": ("", "i4 and ip_lib.ipv4_to_int(i4.dst) == 0x0a070001"),
    "mac_library": ("", "mac_lib.haddr_to_int(eth.dst) == 0xaabbccddeeff"),
    "addrconv": ("", "addrconv.mac.text_to_bin(eth.dst) == b'\\xaa\\xbb\\xcc\\xdd\\xee\\xff'"),
    "uuid": ("", "u and uuid.UUID(int=u.dst_port).int == 12345"),
    "copied": ("", "u and copy.deepcopy({'p': [u.dst_port]})['p'][0] == 12345"),
}
"""By name: what stands before the class, and when the program crashes."""

_KEPT: dict[str, tuple[str, str, str, str]] = {
    "bool": ("", "False", "self.k", "self.k = u.dst_port == 12345"),
    "negated": ("", "True", "not self.k", "self.k = u.dst_port != 12345"),
    "number": ("", "0", "self.k == 12345", "self.k = u.dst_port"),
    "raw_list": ("", "[]", "self.k and self.k[-1] == 12345", "self.k.append(u.dst_port)"),
    "sum": ("", "0", "self.k == 12345", "self.k += u.dst_port"),
    "product": ("", "1", "self.k == 12345 * 3", "self.k = 3 * u.dst_port"),
    "difference": ("", "0", "self.k == 45", "self.k = u.dst_port - 12300"),
    "max": ("", "0", "self.k > 60000", "self.k = max(self.k, u.dst_port)"),
    "min": ("", "65535", "self.k < 10", "self.k = min(self.k, u.dst_port)"),
    "text": ("", "''", "self.k.endswith(':12345')", "self.k = f'{eth.dst}:{u.dst_port}'"),
    "text_list": ("", "[]", "'12345' in self.k", "self.k.append(str(u.dst_port))"),
    "joined_text": ("", "''", "',12345' in self.k", "self.k += ',' + str(u.dst_port)"),
    "message": ("", "None", "self.k and self.k.data[36:38] == b'\\x30\\x39'", "self.k = msg"),
    "event": ("", "None", "self.k and self.k.msg.data[36:38] == b'\\x30\\x39'", "self.k = ev"),
    "data": ("", "b''", "self.k[36:38] == b'\\x30\\x39'", "self.k = data"),
    "slice": ("", "b''", "self.k == b'\\x30\\x39'", "self.k = data[36:38]"),
    "packet": ("", "None", "self.k and self.k.get_protocol(udp.udp).dst_port == 12345", "self.k = pkt"),
    "header": ("", "None", "self.k and self.k.dst_port == 12345", "self.k = u"),
    "histogram": ("", "collections.Counter()", "self.k[12345] >= 1", "self.k[u.dst_port] += 1"),
    "tuple": ("", "()", "self.k == (12345, 1)", "self.k = (u.dst_port, in_port)"),
    "nested": ("", "{'a': [{}]}", "self.k['a'][0].get('p') == 12345", "self.k['a'][0]['p'] = u.dst_port"),
    "set": ("", "set()", "12345 in self.k", "self.k.add(u.dst_port)"),
    "frozenset": ("", "frozenset()", "12345 in self.k", "self.k = self.k | {u.dst_port}"),
    "key": ("", "{}", "self.k.get(12345)", "self.k[u.dst_port] = in_port"),
    "formatted_key": ("", "{}", "'p12345' in self.k", "self.k[f'p{u.dst_port}'] = 1"),
    "tuple_key": ("", "{}", "(12345, 1) in self.k", "self.k[u.dst_port, in_port] = 1"),
    "value": ("", "{}", "self.k.get('p') == 12345", "self.k['p'] = u.dst_port"),
    "default_dict": (
        "",
        "collections.defaultdict(list)",
        "12345 in self.k['p']",
        "self.k['p'].append(u.dst_port)",
    ),
    "deque": ("", "collections.deque(maxlen=2)", "12345 in self.k", "self.k.append(u.dst_port)"),
    "ordered": ("", "collections.OrderedDict()", "12345 in self.k", "self.k[u.dst_port] = 1"),
    "named": (
        "R = collections.namedtuple('R', 'p')",
        "R(0)",
        "self.k.p == 12345",
        "self.k = self.k._replace(p=u.dst_port)",
    ),
    "record": (
        "@dataclasses.dataclass\nclass R:\n    p: int = 0",
        "R()",
        "self.k == R(12345)",
        "self.k.p = u.dst_port",
    ),
    "object": ("class R:\n    p = 0", "R()", "self.k.p == 12345", "self.k.p = u.dst_port"),
    "attribute": (
        "class R:\n    pass",
        "R()",
        "hasattr(self.k, 'p12345')",
        "setattr(self.k, f'p{u.dst_port}', 1)",
    ),
    "namespace": ("", "types.SimpleNamespace(p=0)", "self.k.p == 12345", "self.k.p = u.dst_port"),
    "bits": ("", "0", "self.k & 0x3fff == 12345", "self.k = u.dst_port | 0x8000"),
    "shifted": ("", "0", "self.k == 0x30", "self.k = u.dst_port >> 8"),
    "remainder": ("", "0", "self.k == 6", "self.k = u.dst_port % 7"),
    "quotient": ("", "0", "self.k == 123", "self.k = u.dst_port // 100"),
    "length": ("", "0", "self.k == 1", "self.k = len(str(u.dst_port))"),
    "heap": ("", "[70000]", "self.k[0] < 10", "heapq.heappush(self.k, u.dst_port)"),
    "sorted": ("", "[]", "self.k and self.k[0] == 7", "self.k = sorted([*self.k, u.dst_port])"),
    "closure": ("", "lambda: 0", "self.k() == 12345", "self.k = (lambda p: lambda: p)(u.dst_port)"),
    "partial": ("", "int", "self.k() == 12345", "self.k = functools.partial(int, u.dst_port)"),
    "address": ("", "''", "self.k == '10.7.0.1'", "self.k = i4.dst if i4 else ''"),
    "address_list": (
        "",
        "[]",
        "any(a.startswith('10.7.') for a in self.k)",
        "self.k += [i4.dst] if i4 else []",
    ),
    "mac": ("", "{}", "'aa:bb:cc:dd:ee:ff' in self.k", "self.k[eth.dst] = in_port"),
    "two_fields": ("", "0", "self.k == 100000", "self.k = u.dst_port + u.src_port"),
    "meets_next": ("", "0", "u and self.k + u.dst_port == 100000", "self.k = u.dst_port"),
    "inverted": ("", "0", "self.k == ~12345", "self.k = ~u.dst_port"),
    "conditional": ("", "''", "self.k == 'high'", "self.k = ('low', 'high')[u.dst_port > 60000]"),
    "packed": ("", "b''", "self.k == b'\\x30\\x39'", "self.k = struct.pack('!H', u.dst_port)"),
    "compared": (
        "",
        "()",
        "self.k and self.k[0] and not self.k[1]",
        "self.k = (u.dst_port > 5, u.dst_port > 9)",
    ),
}
"""By name: what stands before the class, what is there at first, when it crashes, what is kept of UDP."""

_MOVED: dict[str, tuple[str, str, str, str]] = {
    "list": ("", "[0, 0]", "self.k[1] == 12345", "self.k = [u.dst_port, self.k[0]]"),
    "text": ("", "('', '')", "self.k[1] == 'p777'", "self.k = (f'p{u.dst_port}', self.k[0])"),
    "truth": ("", "(False, False)", "self.k[1]", "self.k = (u.dst_port == 12345, self.k[0])"),
    "sum": ("", "(0, 0)", "self.k[1] == 70000", "self.k = (u.dst_port, self.k[0] + u.dst_port)"),
    "twice": (
        "",
        "(0, 0)",
        "self.k == (4660, 1)",
        "self.k = (u.dst_port, 1 if u.dst_port == self.k[0] else 0)",
    ),
    "smaller": (
        "",
        "(0, 0)",
        "self.k[0] == 37428",
        "self.k = (u.dst_port, 0) if u.dst_port < self.k[1] else (0, u.dst_port)",
    ),
    "attribute": (
        "class R:\n    old = new = 0",
        "R()",
        "self.k.old == 12345",
        "self.k.old, self.k.new = self.k.new, u.dst_port",
    ),
}
"""The same, where the next packet moves what is kept elsewhere, and only the third meets it there."""

_SAFE: dict[str, tuple[str, str, str, str]] = {
    "known_one": ("", "53", "self.k == 54", "self.k = u.dst_port if u.dst_port == self.k else self.k"),
    "never_both": ("", "0", "self.k > 5 and self.k < 6", "self.k = u.dst_port"),
    "too_large": ("", "0", "self.k > 65535", "self.k = u.dst_port"),
    "odd_twice": ("", "0", "self.k % 2", "self.k = 2 * u.dst_port"),
    "no_such_text": ("", "''", "self.k == 'p0x1'", "self.k = f'p{u.dst_port}'"),
    "cleared": ("", "0", "self.k == 12345", "self.k = u.dst_port; self.k = 0"),
    "source": ("", "''", "self.k == 'aa:bb:cc:dd:ee:ff'", "self.k = eth.src"),
}


TABLE = tuple(table_of(Path(__file__).with_name("packet_classes.toml")))
"""More programs of the kind `classes`."""


def programs() -> Iterator[Program]:
    """Yield all programs."""
    for name, (prelude, test) in _CLASSES.items():
        yield _program(name, "classes", prelude, "None", test, "", 1, "bug")
    for row in TABLE:
        yield _program(row["name"], "classes", row.get("before", ""), "None", row["test"], "", 1, "bug")
    for name, (prelude, initial, test, store) in _KEPT.items():
        yield _program(name, "kept", prelude, initial, test, store, 2, "bug")
    for name, (prelude, initial, test, store) in _MOVED.items():
        yield _program(f"moved_{name}", "kept", prelude, initial, test, store, 3, "bug")
    for name, (prelude, initial, test, store) in _SAFE.items():
        yield _program(name, "kept", prelude, initial, test, store, 2, "safe")


def packet_program(name: str, kind: str, prelude: str, test: str) -> Program:
    """Return a program that crashes when a packet comes for which a test holds; there is one."""
    return _program(name, kind, prelude, "None", test, "", 1, "bug")


def kept_program(name: str, kind: str, prelude: str, initial: str, test: str, store: str) -> Program:
    """Return a program that crashes when a test holds of what it has kept of a UDP packet; it may."""
    return _program(name, kind, prelude, initial, test, store, 2, "bug")


def _program(
    name: str, kind: str, prelude: str, initial: str, test: str, store: str, count: int, truth: str
) -> Program:
    kept = f"if u: {store}" if store else "pass"
    source = _APP.format(prelude=prelude, initial=initial, test=test, store=kept)
    scenario = {
        "topology": "single,2",
        "properties": ["ControllerCrash"],
        "controller": {"apps": [f"{kind}_{name}.py"]},
        "hosts": {"h1": {"count": count}, "h2": {"count": 0}},
        "verify": {"properties": ["ControllerCrash"]},
    }
    files = {f"{kind}_{name}.py": source}
    return Program(f"{kind}_{name}", kind, files, scenario, truth, truth)
