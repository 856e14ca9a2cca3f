"""Reads timelines as Perfetto's trace processor does, with the messages that Perfetto publishes, into tables for SQL.

The trace processor itself is a program that the package `perfetto` downloads at its first use, so it is not here; the
package's own classes decode every packet, and what is done with them follows `track_event_parser.cc`: packets are
sorted by time, those of the same instant keep the order of the file; a slice ends with the next end on its track; a
flow goes from one event that names it to the next.
"""

from __future__ import annotations

import sqlite3
import warnings
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
SCHEMA = """
create table track (id integer primary key, parent integer, name text, rank integer, is_counter integer);
create table slice (id integer primary key, track integer, ts integer, dur integer, category text, name text,
                    depth integer, parent integer, is_instant integer);
create table args (slice integer, key text, value);
create table counter (track integer, ts integer, value real);
create table flow (id integer, slice_out integer, slice_in integer);
"""


def read(path: Path, *, has_ended: bool = True) -> sqlite3.Connection:
    """The tables of a timeline. Of one that goes on, what is open has a duration of 0.

    Raises `AssertionError` for what the trace processor would count as an error.
    """
    trace = pb.Trace()
    trace.ParseFromString(path.read_bytes())
    tables = sqlite3.connect(":memory:")
    tables.executescript(SCHEMA)
    events = _tokenized(trace, tables)
    _parse(events, tables, has_ended)
    return tables


def _tokenized(
    trace: pb.Trace, tables: sqlite3.Connection
) -> list[tuple[int, pb.TrackEvent, dict[str, dict[int, str]]]]:
    """Descriptors become tracks; events in the order of time, each with what is interned in its sequence."""
    interned: dict[int, dict[str, dict[int, str]]] = {}
    events = []
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        assert sequence > 0, "a packet of no sequence"
        if packet.sequence_flags & 1:
            interned[sequence] = {"category": {}, "event": {}, "key": {}, "value": {}}
        names = interned[sequence]
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            row = (
                descriptor.uuid,
                descriptor.parent_uuid,
                descriptor.name,
                descriptor.sibling_order_rank,
                descriptor.HasField("counter"),
            )
            tables.execute("insert into track values (?, ?, ?, ?, ?)", row)
        for kind, entries in (
            ("category", packet.interned_data.event_categories),
            ("event", packet.interned_data.event_names),
            ("key", packet.interned_data.debug_annotation_names),
        ):
            names[kind].update((entry.iid, entry.name) for entry in entries)
        values = packet.interned_data.debug_annotation_string_values
        names["value"].update((entry.iid, entry.str.decode()) for entry in values)
        if packet.HasField("track_event"):
            assert packet.HasField("timestamp")
            assert packet.sequence_flags & 2, "an event that needs what is interned does not say so"
            _check_names(packet.track_event, names)
            events.append((packet.timestamp, packet.track_event, names))
    events.sort(key=lambda event: event[0])
    return events


def _check_names(event: pb.TrackEvent, names: dict[str, dict[int, str]]) -> None:
    assert event.name_iid == 0 or event.name_iid in names["event"], "a name is used before it is interned"
    assert all(iid in names["category"] for iid in event.category_iids)
    assert all(annotation.name_iid in names["key"] for annotation in event.debug_annotations)


def _parse(
    events: list[tuple[int, pb.TrackEvent, dict[str, dict[int, str]]]], tables: sqlite3.Connection, has_ended: bool
) -> None:
    known = {row[0] for row in tables.execute("select id from track")}
    open_slices: dict[int, list[int]] = {}
    flows: dict[int, int] = {}
    begun: dict[int, int] = {}
    durations: list[tuple[int, int]] = []
    slices: list[tuple[object, ...]] = []
    args: list[tuple[object, ...]] = []
    counters: list[tuple[object, ...]] = []
    arrows: list[tuple[object, ...]] = []
    for at_ns, event, names in events:
        assert event.track_uuid in known, "an event on a track that nobody has described"
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == COUNTER:
            value = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            counters.append((event.track_uuid, at_ns, value))
            continue
        if event.type == END:
            assert stack, "an end without a beginning"
            ended = stack.pop()
            durations.append((at_ns - begun.pop(ended), ended))
            continue
        assert event.type in (BEGIN, INSTANT)
        number = len(slices) + 1
        category = ",".join(names["category"][iid] for iid in event.category_iids)
        parent = stack[-1] if stack else None
        name = names["event"][event.name_iid]
        slices.append((number, event.track_uuid, at_ns, 0, category, name, len(stack), parent, event.type == INSTANT))
        for annotation in event.debug_annotations:
            value = (
                annotation.uint_value
                if annotation.HasField("uint_value")
                else names["value"][annotation.string_value_iid]
            )
            args.append((number, names["key"][annotation.name_iid], value))
        for flow in (*event.flow_ids, *event.terminating_flow_ids):
            if flow in flows:
                arrows.append((flow, flows[flow], number))
            flows[flow] = number
        for flow in event.terminating_flow_ids:
            flows.pop(flow)
        if event.type == BEGIN:
            stack.append(number)
            begun[number] = at_ns
    assert not has_ended or not any(open_slices.values()), "slices that never end"
    tables.executemany("insert into slice values (?, ?, ?, ?, ?, ?, ?, ?, ?)", slices)
    tables.executemany("update slice set dur = ? where id = ?", durations)
    tables.executemany("insert into args values (?, ?, ?)", args)
    tables.executemany("insert into counter values (?, ?, ?)", counters)
    tables.executemany("insert into flow values (?, ?, ?)", arrows)
