"""Files written for Mininet load unmodified, leave nothing behind, and fail in a sentence."""

import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from penstock._world.component import Endpoint
from penstock._world.topology import load_mininet, topology
from penstock.addresses import ipv4, mac
from penstock.errors import PenstockError

EXAMPLES = Path(__file__).parents[2] / "examples" / "topologies"

PAIR = """
    from mininet.topo import Topo

    class Pair(Topo):
        def build(self, hosts=2, **opts):
            switch = self.addSwitch("s1")
            for number in range(hosts):
                self.addLink(self.addHost("h%d" % (number + 1)), switch)
"""


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Give tests `write(text)`, which puts a file on disk and returns its path."""

    def write(text: str, name: str = "topo.py") -> Path:
        file = tmp_path / name
        file.write_text(dedent(text))
        return file

    return write


def test_the_diamond_example_loads() -> None:
    network = load_mininet(EXAMPLES / "diamond.py")
    assert [host.name for host in network.hosts] == ["h1", "h2"]
    peers = network.peers()
    assert {port: peers[Endpoint("s1", port)].node for port in network.switch("s1").ports} == {
        1: "h1",
        2: "s2",
        3: "s3",
    }


def test_the_campus_example_loads_with_its_addresses_ports_and_link_options() -> None:
    network = load_mininet(EXAMPLES / "campus.py", "campus,3", desks=1)
    assert [host.name for host in network.hosts] == ["b1d1", "b2d1", "b3d1", "server"]
    server = network.host("server")
    assert (server.mac, server.ip) == (mac("00:00:00:00:99:01"), ipv4("10.0.99.1"))
    assert server.attachment == Endpoint("core", 48)
    assert network.switch("core").dpid == 0xC0
    assert network.switch("core").ports == (1, 2, 3, 48)
    uplink = next(link for link in network.links if link.a == Endpoint("b2", 24))
    assert uplink.b == Endpoint("core", 2)
    assert uplink.options == (("bw", 100), ("delay", "2ms"))


def test_a_lone_class_needs_no_topos(write: Write) -> None:
    assert load_mininet(write(PAIR)) == topology("single,2")


def test_arguments_come_by_keyword_or_after_the_name(write: Write) -> None:
    file = write(PAIR)
    assert load_mininet(file, hosts=5) == topology("single,5")
    assert load_mininet(file, "Pair,5") == topology("single,5")
    assert load_mininet(file, "Pair,hosts=5") == topology("single,5")


def test_a_topology_is_chosen_by_its_key_or_its_class(write: Write) -> None:
    file = write(PAIR + "\n    topos = {'two': Pair, 'three': lambda: Pair(hosts=3)}\n")
    assert load_mininet(file, "three") == topology("single,3")
    assert load_mininet(file, "Pair,4") == topology("single,4")


def test_a_subclass_of_mininets_own_topologies_loads(write: Write) -> None:
    file = write(
        """
        from mininet.topo import LinearTopo
        from mininet.topolib import TreeTopo

        class Grown(LinearTopo):
            def build(self, **opts):
                LinearTopo.build(self, k=3, n=2, **opts)
                assert (self.k, self.n) == (3, 2)

        topos = {"row": Grown, "tree": lambda: TreeTopo(depth=2, fanout=3)}
        """
    )
    assert load_mininet(file, "row") == topology("linear,3,2")
    assert load_mininet(file, "tree") == topology("tree,2,3")


def test_every_way_of_importing_mininet_works(write: Write) -> None:
    file = write(
        """
        import mininet.topo
        import mininet.link as links
        from mininet import log, node
        from mininet.node import *
        from mininet.link import *
        from mininet.util import custom, dumpNodeConnections, macColonHex, ipAdd, naturalSeq
        from mininet.examples.cluster import RemoteHost

        log.setLogLevel("info")
        log.lg.info("loading")
        assert issubclass(OVSSwitch, node.OVSSwitch)
        link = custom(TCLink, bw=10)

        class Router(Node):
            def config(self, **params):
                super(Router, self).config(**params)

        class Imports(mininet.topo.Topo):
            def __init__(self):
                mininet.topo.Topo.__init__(self, hopts=dict(cls=CPULimitedHost))
                self.addSwitch("s1", cls=OVSSwitch, protocols="OpenFlow13")
                self.addNode("r0", cls=Router, ip="10.0.0.9/24")
                self.addHost("h1", mac=macColonHex(0x1F), ip=ipAdd(31))
                self.addHost("h2")
                for name in self.hosts():
                    self.addLink(name, "s1", cls=links.TCLink, intf=TCIntf)
        """
    )
    network = load_mininet(file)
    assert [(host.name, host.mac, host.ip & 0xFF) for host in network.hosts] == [
        ("h1", 0x1F, 31),
        ("h2", 2, 2),
        ("r0", 3, 9),
    ]
    assert [link.options for link in network.links] == [(), (), ()]


def test_a_topology_can_be_asked_about_itself_while_it_is_drawn(write: Write) -> None:
    file = write(
        """
        import networkx
        from mininet.topo import Topo

        class Asking(Topo):
            def build(self):
                self.addHost("h1")
                self.addSwitch("s2")
                self.addSwitch("s10")
                key = self.addLink("s10", "s2", bw=5)
                self.addLink("h1", "s2")
                assert self.switches() == ["s2", "s10"] and self.nodes() == ["h1", "s2", "s10"]
                assert self.isSwitch("s2") and not self.isSwitch("h1")
                assert self.links(sort=True) == [("h1", "s2"), ("s10", "s2")]
                assert self.links(withKeys=True)[0] == ("s10", "s2", key)
                assert self.port("s2", "h1") == (2, 0)
                assert self.linkInfo("s2", "s10")["bw"] == 5
                assert sorted(self.g.nodes()) == ["h1", "s10", "s2"] and len(self.g) == 3
                assert len(self.g.edges()) == 2 and "s2" in self.g["h1"]
                assert networkx.has_path(self.convertTo(networkx.MultiGraph), "h1", "s10")
                self.setNodeInfo("h1", dict(self.nodeInfo("h1"), ip="10.0.0.77"))
                self.setlinkInfo("s10", "s2", dict(self.linkInfo("s10", "s2"), bw=7))
        """
    )
    network = load_mininet(file)
    assert network.host("h1").ip == ipv4("10.0.0.77")
    assert network.links[1].options == (("bw", 7),)


def test_a_host_without_an_ip_address_starts_with_none(write: Write) -> None:
    file = write(
        """
        from mininet.topo import Topo

        class Bare(Topo):
            def build(self):
                self.addHost("h1", ip=None, mac=None)
        """
    )
    assert [(host.mac, host.ip) for host in load_mininet(file).hosts] == [(1, 0)]


def test_what_a_file_prints_stays_out_of_the_results(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    load_mininet(write(PAIR + "\n    print('hello')\n"))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "hello\n")


def test_a_file_may_import_its_neighbours_and_its_namesakes_stay_apart(write: Write, tmp_path: Path) -> None:
    for folder, hosts in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        write(PAIR + f"\n    HOSTS = {hosts}\n", f"{folder}/shape.py")
        write("from shape import HOSTS, Pair\ntopos = {'t': lambda: Pair(HOSTS)}\n", f"{folder}/main.py")
    assert load_mininet(tmp_path / "one" / "main.py") == topology("single,1")
    assert load_mininet(tmp_path / "two" / "main.py") == topology("single,2")


@pytest.mark.parametrize("ending", ["", "\n    raise ValueError('no')\n"])
def test_nothing_of_a_file_or_the_stand_in_stays_behind(write: Write, ending: str) -> None:
    import mininet.topo as real

    write("import mininet.node", "beside.py")
    sys.modules.pop("colorsys", None)
    file = write("import beside, colorsys, sys\nsys.path.append('/nowhere')\n" + dedent(PAIR + ending))
    modules, path, finders, argv = set(sys.modules), list(sys.path), list(sys.meta_path), list(sys.argv)
    if ending:
        with pytest.raises(PenstockError):
            load_mininet(file)
    else:
        load_mininet(file)
    assert set(sys.modules) == modules | {"colorsys"}
    assert (sys.path, sys.meta_path, sys.argv) == (path, finders, argv)
    assert sys.modules["mininet.topo"] is real


REFUSED = {
    "no topology at all": (
        "x = 1",
        None,
        r"topo\.py: It defines no topology: add a subclass of Topo",
    ),
    "only an imported topology": (
        "from mininet.topo import LinearTopo",
        None,
        "It defines no topology",
    ),
    "several topologies": (
        PAIR + "\n    class Other(Pair): pass\n",
        None,
        r"topo\.py: It has several topologies: name one of Pair, Other\.",
    ),
    "a name it does not have": (
        PAIR + "\n    topos = {'a': Pair, 'b': Pair}\n",
        "c",
        r"topo\.py: It has no topology 'c': name one of a, b\.",
    ),
    "topos that is no dictionary": (
        PAIR + "\n    topos = [Pair]\n",
        None,
        "Its topos is not a dictionary",
    ),
    "topos that holds a finished topology": (
        PAIR + "\n    topos = {'pair': Pair()}\n",
        None,
        r"Its topos\['pair'\] is no class or function: write MyTopo, not MyTopo\(\)\.",
    ),
    "a function that makes something else": (
        "topos = {'n': lambda: None}",
        None,
        "Expected a Topo, got NoneType: return a Topo",
    ),
    "an error while loading": (
        "import mininet\n\nfanout = 1 / 0",
        None,
        r"topo\.py:3: loading this Mininet file raised ZeroDivisionError \(division by zero\): fix it",
    ),
    "an error while building": (
        "from mininet.topo import Topo\nclass T(Topo):\n    def build(self):\n        self.addHost(hosts[0])",
        None,
        r"topo\.py:4: loading this Mininet file raised NameError \(name 'hosts' is not defined\)",
    ),
    "a syntax error": (
        "x = 1\nprint 'hello'",
        None,
        r"topo\.py:2: loading this Mininet file raised SyntaxError \(Missing parentheses",
    ),
    "a file that exits": (
        "import sys\nsys.exit(3)",
        None,
        r"topo\.py:2: loading this Mininet file raised SystemExit \(3\)",
    ),
    "a package that is not installed": (
        "import mn_wifi_of_the_future",
        None,
        r"topo\.py:1: .*ModuleNotFoundError \(No module named 'mn_wifi_of_the_future'\)",
    ),
    "an argument it does not take": (
        "from mininet.topo import Topo\nclass T(Topo):\n    def build(self): pass",
        "T,3",
        r"topo\.py: .*TypeError .*: pass the arguments its topology wants",
    ),
    "a network started while loading": (
        "from mininet.net import Mininet\nnet = Mininet()",
        None,
        r"topo\.py:2: It starts a network \(Mininet\) while it is loaded: move that below if __name__",
    ),
    "a host name twice": (
        "from mininet.topo import Topo\nclass T(Topo):\n    def build(self):\n"
        "        self.addHost('h1')\n        self.addHost('h1')",
        None,
        r"topo\.py:5: duplicate name 'h1'",
    ),
    "a name for a host and a switch": (
        "from mininet.topo import Topo\nclass T(Topo):\n    def build(self):\n"
        "        self.addHost('n1')\n        self.addSwitch('n1')",
        None,
        r"topo\.py:5: duplicate name 'n1'",
    ),
    "a link to an unknown node": (
        "from mininet.topo import Topo\nclass T(Topo):\n    def build(self):\n"
        "        self.addHost('h1')\n        self.addLink('h1', 's1')",
        None,
        r"topo\.py:5: The link h1 -- s1 needs 's1', which",
    ),
    "a link from a node to itself": (
        "from mininet.topo import Topo\nclass T(Topo):\n    def build(self):\n"
        "        self.addSwitch('s1')\n        self.addLink('s1', 's1')",
        None,
        r"topo\.py:5: The link s1 -- s1 joins a node to itself",
    ),
    "a port that is in use": (
        PAIR + "            self.addLink('h1', 's1', port2=2)",
        None,
        r"topo\.py:9: Port 2 of s1 already leads to h2:0, so it cannot lead to h1 too",
    ),
    "a port that is in use by Mininet's own count": (
        PAIR + "            self.addLink(self.addHost('h8'), 's1', port2=4)\n"
        "            self.addLink(self.addHost('h9'), 's1')",
        None,
        r"topo\.py:10: Port 4 of s1 already leads to h8:0, so it cannot lead to h9 too",
    ),
    "an IP address that is none": (
        PAIR + "            self.addHost('h7', ip='no')",
        None,
        r"topo\.py: Cannot add host 'h7': invalid IPv4 address 'no'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_no_use_is_refused_in_a_sentence(write: Write, case: str) -> None:
    text, name, message = REFUSED[case]
    with pytest.raises(PenstockError, match=message) as refusal:
        load_mininet(write(text), name)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_refused_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=r"gone\.py cannot be read \(No such file or directory\): check"):
        load_mininet(tmp_path / "gone.py")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(PenstockError, match=r"cannot be read \(Is a directory\)"):
        load_mininet(tmp_path / "folder.py")


def test_only_a_py_file_is_taken_for_a_mininet_file(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("raise SystemExit\n")
    with pytest.raises(PenstockError, match=r"run\.jsonl is not a Mininet file: give a \.py file"):
        load_mininet(tmp_path / "run.jsonl")
