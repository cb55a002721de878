"""Drawing statistics requests of every kind."""

from __future__ import annotations

from random import Random

from bench.ovs.programs import PORTS
from bench.ovs.rules import GROUPS, METERS, draw_cookie_filter
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    ALL_GROUPS,
    ALL_METERS,
    ALL_TABLES,
    ANY_GROUP,
    V10,
    FeaturesRequest,
    GetAsyncRequest,
    GetConfigRequest,
    OpenFlowMessage,
    PortNo,
    QueueGetConfigRequest,
    Role,
    RoleRequest,
)
from penstock.openflow.stats import (
    AggregateRequest,
    DescRequest,
    FlowRequest,
    GroupDescRequest,
    GroupFeaturesRequest,
    GroupStatsRequest,
    MeterConfigRequest,
    MeterFeaturesRequest,
    MeterRequest,
    PortDescRequest,
    PortStatsRequest,
    QueueRequest,
    StatsRequest,
    StatsRequestBody,
    TableFeaturesRequest,
    TableRequest,
)


def _filtered(rng: Random, v10: bool, match: Match) -> StatsRequestBody:
    kind = rng.choice((FlowRequest, AggregateRequest))
    out_port = rng.choice((*PORTS, PortNo.CONTROLLER)) if rng.random() < 0.3 else PortNo.ANY
    if v10:
        return kind(match, rng.choice((0, ALL_TABLES)), out_port)
    return kind(
        match,
        rng.choice((0, 1, ALL_TABLES, ALL_TABLES)),
        out_port,
        rng.choice(GROUPS) if rng.random() < 0.1 else ANY_GROUP,
        *draw_cookie_filter(rng),
    )


def draw_question(rng: Random, version: int, match: Match) -> OpenFlowMessage:
    """Return a question a controller may ask."""
    v10 = version == V10
    choices: list[StatsRequestBody] = [
        _filtered(rng, v10, match),
        _filtered(rng, v10, match),
        TableRequest(),
        PortStatsRequest(rng.choice((*PORTS, PortNo.ANY, PortNo.LOCAL))),
        QueueRequest(rng.choice((1, PortNo.ANY, PortNo.ANY))),
        DescRequest(),
    ]
    if not v10:
        choices += [
            GroupStatsRequest(rng.choice((*GROUPS, ALL_GROUPS, ALL_GROUPS))),
            GroupDescRequest(),
            GroupFeaturesRequest(),
            MeterRequest(rng.choice((*METERS, ALL_METERS))),
            MeterConfigRequest(rng.choice((*METERS, ALL_METERS))),
            MeterFeaturesRequest(),
            PortDescRequest(),
        ]
    others: list[OpenFlowMessage] = [FeaturesRequest(), QueueGetConfigRequest(rng.choice(PORTS))]
    if rng.random() < 0.1:
        return rng.choice(others)
    return StatsRequest(rng.choice(choices))


def closing_questions(rng: Random, version: int) -> list[OpenFlowMessage]:
    """Return the questions at the end of every program, which bring all that is left to light."""
    bodies: list[StatsRequestBody] = [
        FlowRequest(),
        AggregateRequest(ANYTHING),
        TableRequest(),
        PortStatsRequest(),
    ]
    others: list[OpenFlowMessage] = [FeaturesRequest(), GetConfigRequest()]
    if version != V10:
        bodies += [
            GroupStatsRequest(ALL_GROUPS),
            GroupDescRequest(),
            MeterRequest(),
            MeterConfigRequest(),
            PortDescRequest(),
        ]
        others += [GetAsyncRequest(), RoleRequest(Role.NOCHANGE)]
        if rng.random() < 0.02:
            bodies.append(TableFeaturesRequest())
    return [*(StatsRequest(body) for body in bodies), *others]
