"""Which tests `make quick` leaves out: each gets a mark by where it is."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent

SLOW = (
    # Whole folders: real programs, minutes of search, other interpreters, browsers, pages that are followed.
    "browser",
    "campaign",
    "docs",
    "minimize",
    "ovs",
    "packaging",
    "plugin",
    "quality",
    "soundness",
    "symbolic",
    "verify",
    "worker",
    # Modules that take about two seconds of CPU or more.
    "cli/stepper/test_stepper_app.py",
    "cli/stepper/test_stepper_terminal.py",
    "cli/test_commands.py",
    "cli/test_cut_traces.py",
    "cli/test_demonstration.py",
    "cli/test_fuzz_command.py",
    "cli/test_hostile_files.py",
    "cli/test_inert.py",
    "cli/test_options.py",
    "cli/test_report_command.py",
    "controllers/test_osken_ryu_apps.py",
    "controllers/test_osken_search.py",
    "controllers/test_snapshot.py",
    "controllers/test_tcp_launch.py",
    "controllers/test_tcp_process.py",
    "doctor/test_parts.py",
    "explain",
    "explore/test_ample_agreement.py",
    "explore/test_reduction_options.py",
    "explore/test_reduction_scenarios.py",
    "explore/test_search_agreement.py",
    "explore/test_strategy_bugs.py",
    "explore/test_strategy_narrowing.py",
    "explore/test_strategy_orders.py",
    "explore/test_strategy_plans.py",
    "fuzz/test_fuzz_docs.py",
    "fuzz/test_fuzzing.py",
    "fuzz/test_generator.py",
    "fuzz/test_listening_ofctl.py",
    "fuzz/test_live_bad_input.py",
    "fuzz/test_live_controllers.py",
    "fuzz/test_live_limits.py",
    "fuzz/test_live_stage.py",
    "fuzz/test_long_runs.py",
    "fuzz/test_meter_patterns.py",
    "openflow/test_wire_round_trip.py",
    "properties/test_no_black_holes_mobile.py",
    "properties/test_packets_followed.py",
    "report/export/test_export_itf.py",
    "report/export/test_export_pcap.py",
    "report/export/test_export_pictures.py",
    "report/test_document.py",
    "report/test_picture.py",
    "report/test_serving.py",
    "report/test_unfolding.py",
    "rootcause/test_journeys.py",
    "test_afresh.py",
    "test_api.py",
    "test_next_steps.py",
    "test_patterns.py",
    "test_scenario_types.py",
    "world/switch/test_flow_table.py",
    "world/test_packet_roundtrip.py",
)
"""What `make quick` leaves out besides the measuring tests; a new module is quick until it is named here."""

MEASURING = "bench"
"""The folder of tests that run benchmarks, which measure."""


def marks_of(file: Path) -> list[str]:
    """Return the marks of the tests in a file."""
    if not file.is_relative_to(HERE):
        return []
    place = file.relative_to(HERE)
    if place.parts[0] == MEASURING:
        return ["measuring"]
    return ["slow"] if any(place.is_relative_to(slow) for slow in SLOW) else []
