"""The Perfetto trace, read with Perfetto's own message definitions."""

import csv
import json
from collections import Counter

import pytest

perfetto_trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


@pytest.fixture(scope="module")
def trace(sample):
    """The packets of the sample trace; unknown fields would be a wrong field number."""
    trace = perfetto_trace_pb2.Trace()
    data = (sample / "trace.perfetto-trace").read_bytes()
    trace.ParseFromString(data)
    return trace.packet


@pytest.fixture(scope="module")
def tracks(trace):
    """Track descriptors by their unique number."""
    return {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace if packet.HasField("track_descriptor")}


def rows(sample, table):
    with open(sample / f"{table}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def case_of(tracks, uuid):
    return tracks[tracks[uuid].parent_uuid].process.process_name


def slices(trace):
    """Begin, end and track of every slice; begins and ends pair up on each track."""
    begun = {}
    found = []
    for packet in trace:
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in begun, "slices of one track overlap"
            begun[event.track_uuid] = packet
        elif event.type == event.TYPE_SLICE_END:
            begin = begun.pop(event.track_uuid)
            assert begin.timestamp <= packet.timestamp
            found.append((begin.track_event, begin.timestamp, packet.timestamp))
    assert begun == {}
    return found


def test_every_case_is_a_process(sample, tracks):
    summary = json.loads((sample / "summary.json").read_text())
    names = [track.process.process_name for track in tracks.values() if track.HasField("process")]
    assert names == [case["name"] for case in summary["cases"]]


def test_every_event_has_a_sequence_and_a_known_track(trace, tracks):
    for packet in trace:
        assert packet.trusted_packet_sequence_id != 0
        if packet.HasField("track_event"):
            assert packet.track_event.track_uuid in tracks


def test_thread_slices_are_those_of_the_record(sample, trace, tracks):
    recorded = Counter(
        (row["case"], f"core {row['core']}", row["thread"], int(row["from_ns"]), int(row["to_ns"]))
        for row in rows(sample, "intervals")
        if row["kind"] == "thread"
    )
    traced = Counter(
        (case_of(tracks, event.track_uuid), tracks[event.track_uuid].name, event.name, start, end)
        for event, start, end in slices(trace)
        if event.categories[0] in ("real-time", "best-effort")
    )
    assert traced == recorded
    assert traced.total() > 1000


def test_throttle_and_gang_slices_are_those_of_the_record(sample, trace):
    recorded = Counter(row["kind"] for row in rows(sample, "intervals"))
    traced = Counter(event.categories[0] for event, _, _ in slices(trace))
    assert traced["throttled"] == recorded["throttled"] > 0
    assert traced["gang"] == recorded["gang-active"] > 0


def test_missed_jobs_are_flagged(sample, trace, tracks):
    recorded = rows(sample, "jobs")
    jobs = [(case_of(tracks, event.track_uuid), tracks[event.track_uuid].name, event) for event, _, _ in slices(trace) if event.categories[0] == "job"]
    assert len(jobs) == len(recorded)
    missed = Counter((case, task) for case, task, event in jobs if event.name.endswith("MISSED"))
    assert missed == Counter((row["case"], row["task"]) for row in recorded if row["missed"] == "true")
    assert missed.total() > 0


def test_counters_carry_the_traffic(trace, tracks):
    values = Counter()
    for packet in trace:
        event = packet.track_event
        if event.type == event.TYPE_COUNTER:
            track = tracks[event.track_uuid]
            assert track.counter.unit_name == "MB/s"
            values[case_of(tracks, event.track_uuid), track.name] += event.double_counter_value
    assert values["co-run", "core 0 best-effort reads"] > 0
    assert values["solo/dnn", "core 0 best-effort reads"] == 0
