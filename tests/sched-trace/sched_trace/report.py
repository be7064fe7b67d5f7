# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The verdict, as text for people and as JSON for programs."""

import json

from .units import NS_PER_S, cpu_list, seconds_text

HELD, VIOLATED, NOT_PROVED = "held", "violated", "not proved"
EXIT_STATUS = {HELD: 0, VIOLATED: 2, NOT_PROVED: 1}
UNUSABLE = "unusable"


def distribution(lengths):
    """Of lengths in ns: how many, median, 99th percentile (nearest rank), longest."""
    ordered = sorted(lengths)
    count = len(ordered)
    if not count:
        return {"count": 0}

    def rank(percent):
        return ordered[max(0, -(-count * percent // 100) - 1)]

    return {"count": count, "median_ns": rank(50), "p99_ns": rank(99), "longest_ns": ordered[-1]}


def as_table(run):
    """Everything there is to say about a run of the checker, for JSON."""
    reader, schedule, activity = run.reader, run.schedule, run.activity
    return {
        "verdict": run.verdict,
        "reasons": run.reasons,
        "trace": {
            "format": reader.format,
            "lines": reader.lines,
            "events": reader.events,
            "other_events": reader.ignored_events,
            "other_lines": reader.other_lines,
            "cut_off_line": reader.cut_off,
            "resolution_ns": run.resolution_ns,
            "first_s": _seconds(schedule.start),
            "last_s": _seconds(schedule.now),
        },
        "hand_overs": activity.hand_overs,
        "partitions": [
            _partition(partition, activity.of(partition)) for partition in schedule.partitions
        ],
        "rules": [_rule(rule, run.findings) for rule in run.rules],
        "skipped_rules": run.skipped,
        "findings": [_finding(finding) for finding in run.findings.kept],
        "missing": {
            "counts": {**schedule.loss_counts, "unreadable": len(reader.unreadable)},
            "allowed": sorted(run.allowed),
            "stretches": [_loss(loss) for loss in schedule.losses],
            "unreadable_lines": [
                {"line": line, "text": text} for line, text in reader.unreadable[: run.show]
            ],
            "late_starts": [
                {"cpu": cpu, "at_s": _seconds(time)} for cpu, time in schedule.late_starts
            ],
            "runnable_before_the_trace": schedule.ready_at_start,
        },
    }


def _seconds(time_ns):
    return None if time_ns is None else seconds_text(time_ns)


def _partition(partition, one):
    return {
        "name": partition.name,
        "cpus": cpu_list(partition.cpus),
        "judged_ns": one.judged_ns,
        "judged_from_s": _seconds(one.first_ns),
        "hand_overs": one.hand_overs,
        "activations": len(one.activations),
        "gangs": [
            {
                "name": gang.name,
                "priority": gang.priority,
                "activations": sum(each.gang is gang for each in one.activations),
                "preempted": sum(each.preempts and each.before is gang for each in one.activations),
                "run_ns": one.run_ns.get(gang, 0),
                "cpu_ns": gang.cpu_ns,
            }
            for gang in sorted(partition.gangs, key=lambda gang: -gang.priority)
        ],
    }


def _rule(rule, findings):
    return {
        "name": rule.name,
        "bound_ns": rule.bound_ns,
        "findings": findings.counts.get(rule.name, 0),
        "doubtful_findings": findings.doubtful.get(rule.name, 0),
        "measured": {label: distribution(lengths) for label, lengths in rule.measured.items()},
    }


def _finding(finding):
    return {
        "rule": finding.rule,
        "partition": finding.partition,
        "from_s": seconds_text(finding.from_ns),
        "to_s": seconds_text(finding.to_ns),
        "from_line": finding.from_line,
        "to_line": finding.to_line,
        "cpus": finding.cpus,
        "threads": finding.threads,
        "text": finding.text,
        "certain": finding.certain,
    }


def _loss(loss):
    return {
        "kind": loss.kind,
        "cpu": loss.cpu,
        "from_s": seconds_text(loss.from_ns),
        "to_s": seconds_text(loss.to_ns),
        "line": loss.line,
        "why": loss.why,
    }


def as_json(run):
    return json.dumps(as_table(run), indent=1)


def as_text(run):
    """The verdict first; then what it rests on."""
    table = as_table(run)
    return "\n".join(
        [
            _verdict_line(run, table),
            *_trace_lines(table),
            *_missing_lines(table, run.show),
            *_finding_lines(table, run.show),
            *_partition_lines(table),
            *_rule_lines(table),
        ]
    )


def _verdict_line(run, table):
    judged_s = max((one["judged_ns"] for one in table["partitions"]), default=0) / NS_PER_S
    over = f"{table['hand_overs']:,} gang hand-overs in {judged_s:,.6g} s"
    if run.verdict == HELD:
        return f"held: over {over}"
    return f"{run.verdict}: {'; '.join(run.reasons)} (over {over})"


def _trace_lines(table):
    trace = table["trace"]
    yield (
        f"trace: {trace['format'] or 'of no known format'}, {trace['lines']:,} lines, {trace['events']:,} "
        f"events read, {trace['other_events']:,} others, {trace['first_s']} to {trace['last_s']} s; "
        f"what is shorter than {trace['resolution_ns']:,} ns does not show"
    )
    if trace["cut_off_line"]:
        yield f"  line {trace['cut_off_line']}, the last one, is cut off and was not read"
    for late in table["missing"]["late_starts"]:
        yield f"  CPU {late['cpu']}: its events begin at {late['at_s']} s"
    if table["missing"]["runnable_before_the_trace"]:
        count = table["missing"]["runnable_before_the_trace"]
        yield f"  {count} times a member ran of which nothing was known before: what it was owed is not"


def _missing_lines(table, show):
    missing = table["missing"]
    for kind, count in missing["counts"].items():
        if count:
            allowed = ", allowed" if kind in missing["allowed"] else ""
            yield f"nothing is proved where events are missing: {kind}, {count:,} times{allowed}"
    for loss in missing["stretches"][:show]:
        yield (
            f"  line {loss['line']}: {loss['kind']}, CPU {loss['cpu']}, {loss['from_s']} to "
            f"{loss['to_s']} s: {loss['why']}"
        )
    for line in missing["unreadable_lines"]:
        yield f"  line {line['line']}: cannot be read: {line['text']}"


def _finding_lines(table, show):
    for finding in table["findings"][:show]:
        doubt = "" if finding["certain"] else " (doubtful: events are missing there)"
        yield (
            f"{finding['rule']}: lines {finding['from_line']}-{finding['to_line']}, {finding['from_s']} to "
            f"{finding['to_s']} s, partition {finding['partition']}: {finding['text']}{doubt}"
        )
        for thread in finding["threads"]:
            cpu = "" if thread["cpu"] is None else f" on CPU {thread['cpu']}"
            gang = f" of gang {thread['gang']}, priority {thread['priority']}"
            whose = gang if thread["gang"] else ""
            yield f"    {thread['comm']}:{thread['pid']}{cpu}, {thread['kind']}{whose}"
    if len(table["findings"]) > show:
        yield f"  and {len(table['findings']) - show:,} more (--show)"


def _partition_lines(table):
    for partition in table["partitions"]:
        yield (
            f"partition {partition['name']}, CPUs {partition['cpus']}: judged for "
            f"{partition['judged_ns'] / NS_PER_S:,.6g} s from {partition['judged_from_s']}, "
            f"{partition['hand_overs']:,} hand-overs"
        )
        yield f"  {'gang':24} {'priority':>8} {'activations':>11} {'pre-empted':>10} {'ran s':>12} {'CPU s':>12}"
        for gang in partition["gangs"]:
            yield (
                f"  {gang['name']:24} {gang['priority']:8} {gang['activations']:11,} {gang['preempted']:10,} "
                f"{gang['run_ns'] / NS_PER_S:12.6f} {gang['cpu_ns'] / NS_PER_S:12.6f}"
            )


def _rule_lines(table):
    yield (
        f"{'rule':10} {'found':>6} {'bound us':>9}  {'measured':12} {'times':>9} {'median us':>10} "
        f"{'p99 us':>10} {'longest us':>10}"
    )
    for rule in table["rules"]:
        bound = "none" if rule["bound_ns"] is None else f"{rule['bound_ns'] / 1000:g}"
        head = f"{rule['name']:10} {rule['findings']:6,} {bound:>9}"
        for label, lengths in rule["measured"].items() or [("", {"count": 0})]:
            times = "".join(
                f" {lengths[part] / 1000:10,.3f}"
                for part in ("median_ns", "p99_ns", "longest_ns")
                if part in lengths
            )
            yield f"{head}  {label:12} {lengths['count']:9,}{times}"
            head = " " * 27
    if table["skipped_rules"]:
        yield f"skipped: {', '.join(table['skipped_rules'])}"
