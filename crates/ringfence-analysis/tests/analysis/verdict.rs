//! Every rule of the verdict, kept and broken.

use crate::common::*;
use ringfence_analysis::verdict::{Breach, ClaimKind, Outcome, Verdict, judge, unreadable};
use ringfence_record::event::OffReason::{Preempted, Sleeping, Throttled};
use ringfence_record::event::*;

fn verdict(events: Vec<Event>) -> Verdict {
    judge(&read(&in_order(events)).expect("the section is well-formed"))
}

/// The verdict fails, for this claim alone; gives its breaches.
fn fails_only(events: Vec<Event>, kind: ClaimKind) -> Vec<Breach> {
    let verdict = verdict(events);
    assert!(!verdict.passed());
    for claim in &verdict.claims {
        let expected = if claim.kind == kind {
            Outcome::Fail
        } else {
            Outcome::Pass
        };
        assert_eq!(claim.outcome, expected, "{claim:#?}");
    }
    let claim = verdict.claim(kind).unwrap();
    assert_eq!(claim.breaches, claim.evidence.len() as u64);
    for breach in &claim.evidence {
        assert!(!has_long_nanoseconds(&breach.text), "{}", breach.text);
    }
    claim.evidence.clone()
}

/// Whether a text has nanoseconds that would read better as another unit.
fn has_long_nanoseconds(text: &str) -> bool {
    let words: Vec<&str> = text.split([' ', ',', ';']).collect();
    let is_long = |pair: &[&str]| pair[1] == "ns" && pair[0].len() > 3;
    words.windows(2).any(is_long)
}

/// Where and when a breach was seen, and the threads.
fn seen(breach: &Breach) -> (u64, u64, Option<u16>, Vec<&str>) {
    let threads = breach.threads.iter().map(String::as_str).collect();
    (breach.time_ns, breach.duration_ns, breach.core, threads)
}

#[test]
fn a_good_record_passes_and_every_rule_looked_at_something() {
    let verdict = verdict(good());
    assert!(verdict.passed(), "{verdict:#?}");
    assert!(verdict.claims_isolation);
    assert!(verdict.claims.iter().all(|claim| claim.checked > 0));
    assert_eq!((verdict.jobs, verdict.misses), (3, 0));
}

#[test]
fn a_lower_gang_beside_a_higher_one() {
    let mut events = good();
    replace(
        &mut events,
        off(4000, 1, 1, Sleeping),
        off(3000, 1, 1, Sleeping),
    );
    replace(&mut events, on(4050, 1, 3), on(3020, 1, 3));
    let breaches = fails_only(events, ClaimKind::OneGangAtATime);
    assert_eq!(
        seen(&breaches[0]),
        (3020, 980, Some(1), vec!["low/1", "high/0"])
    );
    assert!(breaches[0].text.contains("runs beside"));
    // Core 1 is still lower when `high/0` has been runnable for long.
    assert_eq!(
        seen(&breaches[1]),
        (3020, 980, Some(1), vec!["low/1", "high/0"])
    );
    assert!(
        breaches[1]
            .text
            .contains("starts more than 100 ns after a higher gang became")
    );
}

/// `low` runs first although `high` is runnable, from `start_ns` to `end_ns`.
fn low_first(start_ns: u64, end_ns: u64) -> Vec<Event> {
    let mut events = good();
    for (core, high, low) in [(0, 0, 2), (1, 1, 3)] {
        replace(&mut events, on(50, core, high), on(end_ns, core, high));
        events.push(on(start_ns, core, low));
        events.push(off(end_ns, core, low, Preempted));
    }
    // On a core, leave before the next one comes.
    events.sort_by_key(|event| matches!(event, Event::ThreadOn { .. }));
    in_order(events)
}

fn judge_gangs(events: Vec<Event>, kind: ClaimKind) -> (Outcome, Vec<Breach>) {
    let events: Vec<Event> = events
        .into_iter()
        .filter(|event| {
            matches!(
                event,
                Event::CaseBegin(_)
                    | Event::ThreadOn { .. }
                    | Event::ThreadOff { .. }
                    | Event::ThreadWoke { .. }
                    | Event::CaseEnd { .. }
            )
        })
        .collect();
    let verdict = verdict(events);
    let claim = verdict.claim(kind).unwrap();
    (claim.outcome, claim.evidence.clone())
}

#[test]
fn a_lower_gang_that_stays_longer_than_a_hand_over() {
    let (outcome, _) = judge_gangs(low_first(20, 100), ClaimKind::OneGangAtATime);
    assert_eq!(outcome, Outcome::Pass);
    let (outcome, breaches) = judge_gangs(low_first(20, 101), ClaimKind::OneGangAtATime);
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(
        seen(&breaches[0]),
        (100, 1, Some(0), vec!["low/0", "high/0"])
    );
    assert_eq!(breaches.len(), 2);
    assert!(breaches[0].text.contains("still runs"));
}

#[test]
fn a_lower_gang_that_starts_while_a_higher_one_is_runnable() {
    let (outcome, breaches) = judge_gangs(low_first(150, 160), ClaimKind::OneGangAtATime);
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(
        seen(&breaches[0]),
        (150, 10, Some(0), vec!["low/0", "high/0"])
    );
    assert!(
        breaches[0]
            .text
            .contains("starts more than 100 ns after a higher gang became")
    );
}

#[test]
fn a_gang_outside_its_partition() {
    let mut events = good();
    replace(&mut events, on(50, 2, 4), on(50, 0, 4));
    replace(
        &mut events,
        off(5000, 2, 4, Sleeping),
        off(60, 0, 4, Preempted),
    );
    events.extend([on(60, 2, 4), off(5000, 2, 4, Sleeping)]);
    replace(&mut events, on(50, 0, 0), on(60, 0, 0));
    events.sort_by_key(|event| matches!(event, Event::ThreadOn { .. }));
    let breaches = fails_only(in_order(events), ClaimKind::OneGangAtATime);
    assert_eq!(seen(&breaches[0]), (50, 10, Some(0), vec!["other/0"]));
}

/// `low` starts late although nothing keeps it.
fn late_low(start_ns: u64) -> Vec<Event> {
    let mut events = good();
    replace(&mut events, on(4050, 1, 3), on(start_ns, 1, 3));
    events
}

#[test]
fn a_gang_that_waits_in_vain() {
    assert!(verdict(late_low(4100)).passed());
    let breaches = fails_only(late_low(4101), ClaimKind::WorkConservation);
    assert_eq!(seen(&breaches[0]), (4100, 1, Some(1), vec!["low/1"]));
    assert_eq!(breaches.len(), 1);
}

#[test]
fn a_gang_that_never_runs_waits_in_vain_when_its_partition_is_idle() {
    let mut events = good();
    for (core, thread) in [(0, 2), (1, 3)] {
        remove(&mut events, &on(4050, core, thread));
        remove(&mut events, &off(6800, core, thread, Sleeping));
    }
    let (outcome, breaches) = judge_gangs(events, ClaimKind::WorkConservation);
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(
        seen(&breaches[0]),
        (4100, END_NS - 4100, None, vec!["low/0"])
    );
}

#[test]
fn a_gang_may_wait_when_the_share_is_used_up() {
    let limited = |limit_ns, window_ns, start_ns| {
        let mut events = late_low(start_ns);
        declare(&mut events, |case| {
            case.claims.share = Some(ShareClaim {
                limit_ns,
                window_ns,
            });
        });
        let verdict = verdict(events);
        let waits = verdict.claim(ClaimKind::WorkConservation).unwrap();
        waits.outcome == Outcome::Pass
    };
    // 3950 ns of work before, and 100 ns of hand-over.
    assert!(limited(4050, 10_000, 5000));
    assert!(!limited(4051, 10_000, 5000));
    // Held back for window less limit, and a hand-over.
    assert!(limited(3000, 3500, 4600));
    assert!(!limited(3000, 3500, 4601));
}

#[test]
fn what_the_enforcer_says_about_gangs_does_not_matter() {
    let mut events = good();
    events.retain(|event| !matches!(event, Event::GangActive { .. }));
    events.push(Event::GangActive {
        time_ns: 1,
        partition: 0,
        priority: Some(10),
    });
    assert_eq!(verdict(events), verdict(good()));
}

#[test]
fn a_budget_exceeded_by_a_byte() {
    let mut events = good();
    replace(
        &mut events,
        sample(2000, 1964, 1014),
        sample(2000, 1965, 1014),
    );
    let breaches = fails_only(events, ClaimKind::Budgets);
    assert_eq!(seen(&breaches[0]), (1000, 1000, Some(3), vec![]));
    assert!(breaches[0].text.contains("read 1065 bytes"), "{breaches:?}");
    assert!(breaches[0].text.contains("allow 1064"));

    let mut events = good();
    replace(
        &mut events,
        sample(2000, 1964, 1014),
        sample(2000, 1964, 1015),
    );
    let breaches = fails_only(events, ClaimKind::Budgets);
    assert!(breaches[0].text.contains("wrote 565 bytes"), "{breaches:?}");
}

#[test]
fn samples_off_the_period_boundaries_do_not_excuse_an_excess() {
    // Ten samples in a period, each with less than a budget; together ten times too much.
    let hide = |at: fn(u64) -> u64| {
        let mut events = good();
        events.retain(|event| !matches!(event, Event::Counters { .. }));
        events.extend((1..=120).map(|index| sample(at(index), index * 900, index * 450)));
        events
    };
    let breaches = fails_only(hide(|index| index * 100), ClaimKind::Budgets);
    assert_eq!(seen(&breaches[0]), (0, 1000, Some(3), vec![]));
    assert!(breaches[0].text.contains("read 9000 bytes"));
    // Never at a boundary: what is seen of the period is still too much.
    let breaches = fails_only(hide(|index| index * 100 - 50), ClaimKind::Budgets);
    assert_eq!(seen(&breaches[0]), (0, 950, Some(3), vec![]));
}

#[test]
fn periods_without_samples_at_their_ends_are_not_judged() {
    // From 2000 to 4000 only the sum is known, which may hide an excess in one.
    let mut events = good();
    remove(&mut events, &sample(3000, 2900, 1450));
    let verdict = verdict(events);
    assert!(!verdict.passed());
    let claim = verdict.claim(ClaimKind::Budgets).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
    let note = claim.note.as_deref().unwrap();
    assert!(note.starts_with("4 periods of a core"), "{note}");
}

#[test]
fn samples_inside_a_period_do_not_replace_those_at_its_ends() {
    let mut events = good();
    replace(
        &mut events,
        sample(3000, 2900, 1450),
        sample(3001, 2900, 1450),
    );
    let verdict = verdict(events);
    let claim = verdict.claim(ClaimKind::Budgets).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
}

fn tolerate_anything(events: &mut [Event]) {
    declare(events, |case| {
        for gang in &mut case.gangs {
            gang.tolerance_read_bytes_per_second = None;
            gang.tolerance_write_bytes_per_second = None;
        }
    });
}

#[test]
fn a_budget_above_the_tolerance_of_a_running_gang() {
    // The hog is back at 2000 and runs beside `high` and `other`.
    let with = |bytes| {
        let mut events = good();
        events.extend([budget(2500, bytes), budget(2600, Some(1000))]);
        events
    };
    assert!(verdict(with(Some(1000))).passed());
    for bytes in [Some(1002), None] {
        let breaches = fails_only(with(bytes), ClaimKind::Budgets);
        // Reads and writes, of either gang.
        assert_eq!(breaches.len(), 4);
        assert_eq!(seen(&breaches[0]), (2500, 100, Some(3), vec!["hog/0"]));
    }
}

#[test]
fn an_enforcer_that_forgets_the_budgets() {
    let mut events = good();
    events.retain(|event| !matches!(event, Event::BudgetSet { .. }));
    let breaches = fails_only(events, ClaimKind::Budgets);
    // A hand-over after the gang started.
    assert_eq!(seen(&breaches[0]), (150, 1700, Some(3), vec!["hog/0"]));
    assert!(
        breaches[0]
            .text
            .contains("core 3 has no read budget while gang 'high' runs")
    );
}

#[test]
fn a_period_with_two_budgets_is_judged_by_the_larger() {
    let with = |read_bytes| {
        let mut events = good();
        tolerate_anything(&mut events);
        events.extend([budget(1400, Some(1200)), budget(1600, Some(1000))]);
        replace(
            &mut events,
            sample(2000, 1964, 1014),
            sample(2000, read_bytes, 1014),
        );
        verdict(events).passed()
    };
    assert!(with(900 + 1200 + 64));
    assert!(!with(900 + 1200 + 64 + 1));
}

#[test]
fn a_period_that_was_unlimited_for_a_while_is_not_judged() {
    let mut events = good();
    tolerate_anything(&mut events);
    events.extend([budget(1400, None), budget(1401, Some(1000))]);
    replace(
        &mut events,
        sample(2000, 1964, 1014),
        sample(2000, 2900, 1014),
    );
    let verdict = verdict(events);
    assert!(verdict.passed());
    let claim = verdict.claim(ClaimKind::Budgets).unwrap();
    // That period and the one from 6000 on, read and written.
    let note = claim.note.as_deref().unwrap();
    assert!(note.starts_with("4 periods of a core"), "{note}");
}

#[test]
fn budgets_without_samples_are_not_judged() {
    let mut events = good();
    events.retain(|event| event.time_ns() < Some(5000) || !matches!(event, Event::Counters { .. }));
    let verdict = verdict(events);
    assert!(!verdict.passed());
    let claim = verdict.claim(ClaimKind::Budgets).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
    let note = claim.note.as_deref().unwrap();
    // From 4000 to 6000, read and written.
    assert!(note.starts_with("4 periods of a core"), "{note}");
    assert!(note.contains("sample every core"), "{note}");
}

#[test]
fn a_best_effort_thread_on_a_throttled_core() {
    let stays_until = |time_ns| {
        let mut events = good();
        let old = off(1850, 3, HOG, Throttled);
        replace(&mut events, old, off(time_ns, 3, HOG, Throttled));
        events
    };
    assert!(verdict(stays_until(1900)).passed());
    let breaches = fails_only(stays_until(1901), ClaimKind::Throttling);
    assert_eq!(seen(&breaches[0]), (1900, 1, Some(3), vec!["hog/0"]));

    let mut starts = good();
    starts.extend([on(1950, 3, HOG), off(1960, 3, HOG, Preempted)]);
    let breaches = fails_only(starts, ClaimKind::Throttling);
    assert_eq!(seen(&breaches[0]), (1950, 10, Some(3), vec!["hog/0"]));
}

#[test]
fn the_end_of_another_partitions_gang_does_not_end_throttling() {
    let mut events = good();
    let (refill, no_gang) = (UnthrottleReason::Refill, UnthrottleReason::NoGang);
    replace(
        &mut events,
        unthrottled(5000, refill),
        unthrottled(5000, no_gang),
    );
    let breaches = fails_only(events, ClaimKind::Throttling);
    assert_eq!(seen(&breaches[0]), (5000, 0, Some(3), vec!["low/0"]));
    assert!(
        breaches[0]
            .text
            .contains("because no gang runs, but 'low/0' does")
    );
}

#[test]
fn a_gang_that_starts_when_throttling_ends_does_no_harm() {
    let mut events = other_released_at(&[6800]);
    declare(&mut events, |case| {
        case.tasks[usize::from(OTHER)].period_ns = 6800;
    });
    events.extend([on(6800, 2, 4), off(6890, 2, 4, Sleeping)]);
    let (task, job) = (OTHER, 1);
    let (started_ns, finished_ns) = (6800, 6890);
    events.extend([
        Event::JobStarted {
            time_ns: started_ns,
            task,
            job,
        },
        Event::JobFinished {
            time_ns: finished_ns,
            task,
            job,
        },
    ]);
    assert!(verdict(events).passed());
}

fn finish_low_at(time_ns: u64) -> Vec<Event> {
    let mut events = good();
    let (task, job) = (LOW, 0);
    let old = Event::JobFinished {
        time_ns: 6800,
        task,
        job,
    };
    replace(&mut events, old, Event::JobFinished { time_ns, task, job });
    events
}

#[test]
fn a_missed_deadline() {
    assert!(verdict(finish_low_at(10_000)).passed());
    let breaches = fails_only(finish_low_at(10_001), ClaimKind::Deadlines);
    assert_eq!((breaches[0].time_ns, breaches[0].duration_ns), (10_000, 1));
    assert!(breaches[0].text.contains("job 0 of task 'low'"));

    let mut unfinished = good();
    unfinished.retain(|event| !matches!(event, Event::JobFinished { task: LOW, .. }));
    fails_only(unfinished, ClaimKind::Deadlines);

    let mut dropped = good();
    dropped.retain(|event| {
        !matches!(
            event,
            Event::JobFinished { task: LOW, .. } | Event::JobStarted { task: LOW, .. }
        )
    });
    dropped.push(Event::JobDropped {
        time_ns: 1,
        task: LOW,
        job: 0,
    });
    fails_only(dropped, ClaimKind::Deadlines);
}

#[test]
fn a_job_whose_deadline_is_after_the_run_is_not_judged() {
    let mut events = good();
    declare(&mut events, |case| {
        case.tasks[usize::from(LOW)].period_ns = END_NS - 1;
    });
    events.push(Event::JobReleased {
        time_ns: END_NS - 1,
        task: LOW,
        job: 1,
    });
    let verdict = verdict(events);
    assert!(verdict.passed());
    assert_eq!(verdict.jobs, 3);
}

#[test]
fn a_deadline_at_the_end_of_the_run_counts() {
    let mut events = good();
    events.push(Event::JobReleased {
        time_ns: END_NS - 10_000,
        task: LOW,
        job: 1,
    });
    let verdict = verdict(events);
    assert_eq!((verdict.jobs, verdict.misses), (4, 1));
}

#[test]
fn a_missing_end() {
    let mut events = good();
    events.pop();
    let error = read(&events).unwrap_err();
    let verdict = unreadable(&error);
    assert!(!verdict.passed() && verdict.claims_isolation);
    let complete = verdict.claim(ClaimKind::CompleteRecord).unwrap();
    assert_eq!(complete.outcome, Outcome::Fail);
    assert!(complete.evidence[0].text.contains("no CaseEnd"));
    assert!(
        verdict.claims[1..]
            .iter()
            .all(|claim| claim.outcome == Outcome::NotJudged)
    );
}

#[test]
fn without_claims_a_breach_is_an_observation_but_deadlines_count() {
    let mut events = low_first(20, 3000);
    let old = off(1850, 3, HOG, Throttled);
    replace(&mut events, old, off(1950, 3, HOG, Throttled));
    declare(&mut events, |case| {
        case.claims.one_gang_at_a_time = false;
        case.claims.budgets = None;
    });
    let observed = verdict(events.clone());
    assert!(observed.passed() && !observed.claims_isolation);
    for kind in [ClaimKind::OneGangAtATime, ClaimKind::Throttling] {
        let claim = observed.claim(kind).unwrap();
        assert_eq!(claim.outcome, Outcome::NotClaimed);
        assert!(claim.breaches > 0 && !claim.evidence.is_empty());
    }
    events.retain(|event| !matches!(event, Event::JobFinished { task: LOW, .. }));
    assert!(!verdict(events).passed());
}

#[test]
fn evidence_is_the_first_breaches_and_the_rest_is_counted() {
    let mut events = good();
    for index in 0..40 {
        let time_ns = 7000 + index * 100;
        // A lower gang's thread appears beside a higher one again and again.
        events.extend([on(time_ns, 0, 0), on(time_ns, 1, 3)]);
        events.extend([
            off(time_ns + 50, 0, 0, Sleeping),
            off(time_ns + 50, 1, 3, Sleeping),
        ]);
    }
    let verdict = verdict(events);
    let claim = verdict.claim(ClaimKind::OneGangAtATime).unwrap();
    assert_eq!((claim.breaches, claim.evidence.len()), (40, 20));
    assert_eq!(claim.evidence[19].time_ns, 7000 + 19 * 100);
}

#[test]
fn a_run_that_ends_early_is_not_complete() {
    let planned = |duration_ns| {
        let mut events = good();
        declare(&mut events, |case| case.duration_ns = duration_ns);
        events
    };
    assert!(verdict(planned(END_NS - 1)).passed());
    let breaches = fails_only(planned(END_NS + 1), ClaimKind::CompleteRecord);
    assert_eq!(seen(&breaches[0]), (END_NS, 1, None, vec![]));
    assert!(breaches[0].text.contains("the run ended after"));
}

/// `other` with a period of 5000 and jobs at 0 and the given times.
fn other_released_at(times_ns: &[u64]) -> Vec<Event> {
    let mut events = good();
    declare(&mut events, |case| {
        case.tasks[usize::from(OTHER)].period_ns = 5000;
    });
    events.extend((1..).zip(times_ns).map(|(job, &time_ns)| {
        let task = OTHER;
        Event::JobReleased { time_ns, task, job }
    }));
    events
}

#[test]
fn jobs_that_are_released_late_early_or_not_at_all() {
    assert!(verdict(other_released_at(&[5000, 10_000])).passed());
    assert!(verdict(other_released_at(&[5100, 10_100])).passed());
    let breaches = fails_only(other_released_at(&[5101, 10_000]), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (5000, 101, None, vec![]));
    let breaches = fails_only(other_released_at(&[5000, 9999]), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (9999, 1, None, vec![]));
    let breaches = fails_only(other_released_at(&[]), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (5000, END_NS - 5000, None, vec![]));
    assert!(
        breaches[0].text.contains("released 1 of 3 jobs"),
        "{breaches:?}"
    );
}

#[test]
fn a_case_in_which_no_job_is_due_is_not_judged() {
    let mut events = good();
    declare(&mut events, |case| {
        for task in &mut case.tasks {
            task.deadline_ns = END_NS + 1;
        }
    });
    let verdict = verdict(events);
    assert!(!verdict.passed());
    let claim = verdict.claim(ClaimKind::Deadlines).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
}

#[test]
fn a_first_job_that_is_released_late_or_early() {
    // All first jobs are released at 0.
    let due_at = |offset_ns| {
        let mut events = good();
        declare(&mut events, |case| {
            case.tasks[usize::from(LOW)].offset_ns = offset_ns;
        });
        events
    };
    let breaches = fails_only(due_at(1), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (0, 1, None, vec![]));

    let released_at = |time_ns| {
        let mut events = good();
        let (task, job) = (OTHER, 0);
        let at = |time_ns| Event::JobReleased { time_ns, task, job };
        replace(&mut events, at(0), at(time_ns));
        replace(&mut events, on(50, 2, 4), on(time_ns, 2, 4));
        let started = |time_ns| Event::JobStarted { time_ns, task, job };
        replace(&mut events, started(50), started(time_ns));
        let woke = |time_ns| Event::ThreadWoke { time_ns, thread: 4 };
        replace(&mut events, woke(0), woke(time_ns));
        events
    };
    assert!(verdict(released_at(100)).passed());
    let breaches = fails_only(released_at(101), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (0, 101, None, vec![]));
    assert_eq!(
        breaches[0].text,
        "job 0 of task 'other', due at 0 ns, was released 101 ns late"
    );
}

/// `good` without any job of `low`, whose first one is due at `offset_ns`.
fn without_jobs_of_low(offset_ns: u64) -> Vec<Event> {
    let mut events = good();
    declare(&mut events, |case| {
        case.tasks[usize::from(LOW)].offset_ns = offset_ns;
    });
    events.retain(|event| {
        !matches!(
            event,
            Event::JobReleased { task: LOW, .. }
                | Event::JobStarted { task: LOW, .. }
                | Event::JobFinished { task: LOW, .. }
        )
    });
    events
}

#[test]
fn a_first_job_that_is_never_released() {
    let breaches = fails_only(without_jobs_of_low(END_NS - 1), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (END_NS - 1, 1, None, vec![]));
    assert!(
        breaches[0].text.contains("released 0 of 1 jobs"),
        "{breaches:?}"
    );
}

#[test]
fn a_task_whose_first_job_is_due_after_the_run_is_not_judged() {
    let verdict = verdict(without_jobs_of_low(END_NS));
    assert!(!verdict.passed());
    let claim = verdict.claim(ClaimKind::Releases).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
    assert!(claim.note.as_deref().unwrap().contains("'low'"));
}

#[test]
fn more_real_time_work_than_the_share() {
    let with = |limit_ns, window_ns| {
        let mut events = good();
        declare(&mut events, |case| {
            case.claims.share = Some(ShareClaim {
                limit_ns,
                window_ns,
            });
        });
        verdict(events)
    };
    let share = |limit_ns, window_ns| {
        let verdict = with(limit_ns, window_ns);
        let claim = verdict.claim(ClaimKind::Share).unwrap();
        (claim.outcome, claim.evidence.clone())
    };
    // The left partition works for 6700 ns, the right one for 4950 ns.
    assert_eq!(share(6600, 10_000).0, Outcome::Pass);
    let (outcome, breaches) = share(6599, 10_000);
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(breaches.len(), 1);
    assert_eq!(seen(&breaches[0]), (0, 10_000, None, vec![]));
    assert!(breaches[0].text.contains("partition 'left'"));
    // From 2000 to 4000 both partitions work all the time.
    assert_eq!(share(1900, 2000).0, Outcome::Pass);
    let (outcome, breaches) = share(1899, 2000);
    assert_eq!(outcome, Outcome::Fail);
    let at: Vec<u64> = breaches.iter().map(|breach| breach.time_ns).collect();
    assert_eq!(at, [2000, 2000]);
}

#[test]
fn a_refill_inside_a_period_does_not_end_throttling() {
    for (time_ns, early_ns) in [(1999, 1), (2001, 999)] {
        let refill = UnthrottleReason::Refill;
        let mut events = good();
        replace(
            &mut events,
            unthrottled(2000, refill),
            unthrottled(time_ns, refill),
        );
        replace(&mut events, on(2000, 3, HOG), on(time_ns, 3, HOG));
        let breaches = fails_only(events, ClaimKind::Throttling);
        assert_eq!(seen(&breaches[0]), (time_ns, early_ns, Some(3), vec![]));
    }
}

#[test]
fn a_finish_without_work() {
    // `other/0` never runs, although its job is said to start and to finish.
    let mut events = good();
    remove(&mut events, &on(50, 2, 4));
    remove(&mut events, &off(5000, 2, 4, Sleeping));
    events.push(off(0, 2, 4, Sleeping));
    events.push(on(0, 2, 4));
    events.sort_by_key(|event| matches!(event, Event::ThreadOff { .. }));
    let breaches = fails_only(events, ClaimKind::Deadlines);
    assert_eq!(seen(&breaches[0]), (5000, 0, None, vec![]));
    assert!(breaches[0].text.contains("no thread of the task ran"));
}

#[test]
fn a_thread_that_goes_on_after_the_finish() {
    let breaches = fails_only(finish_low_at(6799), ClaimKind::Deadlines);
    assert_eq!(seen(&breaches[0]), (6799, 0, None, vec![]));
    assert!(breaches[0].text.contains("runs after that"));
    // It is no miss: how many there are is what the jobs say.
    assert_eq!(verdict(finish_low_at(6799)).misses, 0);
}

/// `other` is released at 0 and 2500; the first job finishes at `time_ns`, the
/// second one starts at `next_ns`, and `other/0` never leaves its core.
fn queued(time_ns: u64, next_ns: u64) -> Vec<Event> {
    let mut events = other_released_at(&[2500, 5000, 7500, 10_000]);
    declare(&mut events, |case| {
        case.tasks[usize::from(OTHER)].period_ns = 2500;
    });
    let task = OTHER;
    let finished = |time_ns, job| Event::JobFinished { time_ns, task, job };
    replace(&mut events, finished(5000, 0), finished(time_ns, 0));
    let started = Event::JobStarted {
        time_ns: next_ns,
        task,
        job: 1,
    };
    events.extend([started, finished(5000, 1)]);
    events
}

#[test]
fn the_next_job_may_start_when_one_finishes() {
    assert!(verdict(queued(3000, 3000)).passed());
    let breaches = fails_only(queued(3000, 3001), ClaimKind::Deadlines);
    assert_eq!(seen(&breaches[0]), (3000, 0, None, vec![]));
}
