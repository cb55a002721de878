/* NICE's ping experiment for SPIN: h1 - s1 - s2 - h2 and a MAC-learning controller.
 *
 * The same system as bench/ping_experiment.py, transition for transition and state for state:
 * -DN=6 pings that are all alike; a switch takes one packet from one port at a time; a rule and
 * the packet it was made for are two messages.  Every step is one d_step, every variable that a
 * step uses is put back to zero, so that SPIN stores nothing that is no part of the system.
 */
#ifndef N
#define N 6
#endif

#define PING 1                 /* from h1 to h2 */
#define PONG 2                 /* from h2 to h1 */
#define FLOODED 0              /* an output port, in a packet-out */
#define RULE 1                 /* kinds of message to a switch */
#define PACKET 2

/* One channel per direction of a link; at most N packets exist. */
chan h1_s1 = [N] of { byte };  chan s1_h1 = [N] of { byte };
chan h2_s2 = [N] of { byte };  chan s2_h2 = [N] of { byte };
chan s1_s2 = [N] of { byte };  chan s2_s1 = [N] of { byte };

/* packet-in: packet, port.  To a switch: kind, packet, port it came by, port to send it to. */
chan s1_c0 = [N] of { byte, byte };
chan s2_c0 = [N] of { byte, byte };
chan c0_s1 = [2 * N] of { byte, byte, byte, byte };
chan c0_s2 = [2 * N] of { byte, byte, byte, byte };

active proctype h1()
{
    byte sent, answered, packet;
end:
    do
    :: d_step { sent < N -> sent++; h1_s1!PING }
    :: d_step { s1_h1?packet -> answered++; packet = 0 }
    od
}

active proctype h2()
{
    byte owed, packet;
end:
    do
    :: d_step { s2_h2?packet -> owed++; packet = 0 }
    :: d_step { owed > 0 -> owed--; h2_s2!PONG }
    od
}

/* Port 1 leads to the host, port 2 to the other switch. */
inline transmit(by, host_link, switch_link)
{
    if
    :: by == 1 -> host_link!packet
    :: by == 2 -> switch_link!packet
    fi
}

inline forward(came_by, to_the_host, to_the_switch, to_c0)
{
    out = rules[packet * 2 + came_by];
    if
    :: out == 0 -> to_c0!packet, came_by
    :: else -> transmit(out, to_the_host, to_the_switch)
    fi;
    packet = 0; out = 0
}

/* A rule is the output port for a packet's direction and input port: rules[packet * 2 + port]. */
#define SWITCH(name, from_host, to_host, from_switch, to_switch, to_controller, from_controller) \
active proctype name() \
{ \
    byte rules[7]; \
    byte kind, packet, port, out; \
end: \
    do \
    :: d_step { from_host?packet -> forward(1, to_host, to_switch, to_controller) } \
    :: d_step { from_switch?packet -> forward(2, to_host, to_switch, to_controller) } \
    :: d_step { from_controller?kind, packet, port, out -> \
           if \
           :: kind == RULE -> rules[packet * 2 + port] = out \
           :: kind == PACKET && out != FLOODED -> transmit(out, to_host, to_switch) \
           :: kind == PACKET && out == FLOODED -> transmit(3 - port, to_host, to_switch) \
           fi; \
           kind = 0; packet = 0; port = 0; out = 0 } \
    od \
}

SWITCH(s1, h1_s1, s1_h1, s2_s1, s1_s2, s1_c0, c0_s1)
SWITCH(s2, h2_s2, s2_h2, s1_s2, s2_s1, s2_c0, c0_s2)

/* NICE's Figure 3: where[switch * 3 + packet] is the port by which the packet's sender was seen. */
inline packet_in(at, answer)
{
    where[at * 3 + packet] = port;
    out = where[at * 3 + 3 - packet];
    if
    :: out != 0 && out != port -> answer!RULE, packet, port, out; answer!PACKET, packet, port, out
    :: else -> answer!PACKET, packet, port, FLOODED
    fi;
    packet = 0; port = 0; out = 0
}

active proctype c0()
{
    byte where[6];
    byte packet, port, out;
end:
    do
    :: d_step { s1_c0?packet, port -> packet_in(0, c0_s1) }
    :: d_step { s2_c0?packet, port -> packet_in(1, c0_s2) }
    od
}
