//! What the hypervisor traces, as a record that the verdict judges.

use std::path::Path;

use proptest::prelude::*;
use ringfence_analysis::case::CaseRun;
use ringfence_analysis::read_case::CaseReader;
use ringfence_analysis::verdict::{ClaimKind, ClaimResult, Outcome, judge};
use ringfence_hyp::record::{self, EVENT_BYTES, Seen};
use ringfence_hyp::trace::{Change, CoreTrace, Entry, Kind, Loan};
use ringfence_record::event::{Event, Header};
use ringfence_record::{Reader, Writer};
use ringfence_scenario::model::Scenario;
use ringfence_scenario::{NoFiles, parse};

const PERIOD_NS: u64 = 100_000;
const PERIODS: u64 = 5;
const SHARE: u64 = 10;

/// A VM of one vCPU on core 1 with 10 events each 100 us, for 500 us.
fn scenario() -> Scenario {
    let source = r#"
        [scenario]
        name = "one"
        platform = "raspberry-pi-3"
        duration = "500 us"
        [[vm]]
        name = "writer"
        cores = "1"
        reservation = { budget = 10, period = "100 us" }
        [[case]]
        name = "reserved"
    "#;
    parse(source, "one.toml", Path::new(""), &NoFiles).unwrap_or_else(|error| panic!("{error}"))
}

/// The case as it is read from the record of these entries of core 1.
fn read(entries: Vec<Entry>, lost: u64, is_off: bool) -> CaseRun {
    let mut cores = vec![CoreTrace::default(); 4];
    cores[1] = CoreTrace { entries, lost };
    read_all(&scenario(), &cores, is_off)
}

/// The case as it is read from the record of these entries of all cores.
fn read_all(scenario: &Scenario, cores: &[CoreTrace], is_off: bool) -> CaseRun {
    let seen = Seen { cores, is_off };
    let section = record::section(scenario, &scenario.cases[0], seen).unwrap();
    let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
    writer.append_section(&section).unwrap();
    let bytes = writer.finish().unwrap();
    let mut events = Reader::new(&bytes[..]).unwrap().map(Result::unwrap);
    let Some(Event::CaseBegin(case)) = events.next() else {
        panic!("a record begins with its case");
    };
    let mut reader = CaseReader::new(*case);
    events.for_each(|event| reader.read(&event));
    reader.finish().unwrap_or_else(|error| panic!("{error}"))
}

fn reservations(run: &CaseRun) -> ClaimResult {
    judge(run).claim(ClaimKind::Reservations).unwrap().clone()
}

fn entry(time_ns: u64, kind: Kind, events: u64) -> Entry {
    Entry {
        time_ns,
        kind,
        events,
    }
}

/// A vCPU that uses so many events in each period: throttled at its share, refilled
/// `late_ns` after each begin.
fn regulated(uses: &[u64], late_ns: u64) -> Vec<Entry> {
    let mut entries = vec![entry(5_000, Kind::On, 0)];
    let mut total = 0;
    for (period, used) in (0..).zip(uses) {
        let begin_ns = period * PERIOD_NS;
        total += used;
        if *used >= SHARE {
            entries.push(entry(begin_ns + 50_000, Kind::Throttle, total));
        }
        let refilled_ns = begin_ns + PERIOD_NS + late_ns;
        entries.push(entry(refilled_ns, Kind::Refill, total));
        if *used >= SHARE {
            entries.push(entry(refilled_ns + 10, Kind::Resume, total));
        }
    }
    entries
}

#[test]
fn a_vcpu_within_its_share_passes_to_the_event() {
    let run = read(regulated(&[10, 3, 0, 10, 10], 700), 0, false);
    let claim = reservations(&run);
    assert_eq!(claim.outcome, Outcome::Pass, "{claim:#?}");
    // A period each, and the throttlings that have ended or not.
    assert_eq!(claim.checked, PERIODS + 3);
    let totals: Vec<u64> = run.cores[1]
        .samples
        .iter()
        .map(|sample| sample.counters.write_bytes / EVENT_BYTES)
        .collect();
    assert_eq!(totals, [10, 13, 13, 23, 33]);
    assert_eq!(run.cores[1].throttles[0].from_ns, 50_000);
    assert_eq!(run.cores[1].throttles[0].to_ns, 100_000);
    // The guest goes on when it does, not when it might.
    assert_eq!(run.threads[0].occupations[1].from_ns, 100_710);
}

#[test]
fn an_event_more_is_found() {
    let claim = reservations(&read(regulated(&[10, 11, 9, 10, 10], 0), 0, false));
    assert_eq!(claim.outcome, Outcome::Fail);
    assert_eq!(claim.breaches, 1);
    assert_eq!(claim.evidence[0].time_ns, PERIOD_NS);
    assert_eq!(claim.evidence[0].core, Some(1));
}

#[test]
fn a_second_refill_in_a_period_is_found() {
    let mut entries = regulated(&[10, 20, 0, 0, 0], 0);
    // The second period: throttled, refilled in its middle, and throttled again.
    let throttled = entries.iter().position(|e| e.time_ns == 150_000).unwrap();
    entries[throttled].events = 20;
    entries.insert(throttled + 1, entry(160_000, Kind::Refill, 20));
    entries.insert(throttled + 2, entry(160_000, Kind::Resume, 20));
    entries.insert(throttled + 3, entry(170_000, Kind::Throttle, 30));
    let claim = reservations(&read(entries, 0, false));
    assert_eq!(claim.outcome, Outcome::Fail, "{claim:#?}");
    let texts: Vec<&str> = claim.evidence.iter().map(|it| &it.text[..]).collect();
    assert!(
        texts
            .iter()
            .any(|text| text.contains("before its next period")),
        "{texts:?}"
    );
    assert!(
        texts.iter().any(|text| text.contains("moved 1280 bytes")),
        "{texts:?}"
    );
}

#[test]
fn what_was_lost_is_not_judged() {
    let claim = reservations(&read(regulated(&[0; 5], 0), 1, false));
    assert_eq!(claim.outcome, Outcome::NotJudged);
}

#[test]
fn a_run_that_was_cut_short_is_not_judged() {
    let claim = reservations(&read(regulated(&[10, 10, 10], 0), 0, false));
    assert_eq!(claim.outcome, Outcome::NotJudged, "{claim:#?}");
}

#[test]
fn a_vcpu_that_is_off_uses_nothing() {
    let mut entries = regulated(&[10, 4], 0);
    entries.push(entry(230_000, Kind::Off, 17));
    let run = read(entries, 0, true);
    let claim = reservations(&run);
    assert_eq!(claim.outcome, Outcome::Pass, "{claim:#?}");
    let last = run.cores[1].samples.last().unwrap();
    assert_eq!(last.time_ns, PERIODS * PERIOD_NS);
    assert_eq!(last.counters.write_bytes, 17 * EVENT_BYTES);
    assert_eq!(run.threads[0].occupations.last().unwrap().to_ns, 230_000);
}

#[test]
fn a_throttling_behind_the_begin_of_a_period_belongs_to_the_one_before() {
    let mut entries = regulated(&[0, 10, 0, 0, 0], 900);
    let throttle = entries
        .iter()
        .position(|e| e.kind == Kind::Throttle)
        .unwrap();
    entries[throttle].time_ns = 200_500;
    let run = read(entries, 0, false);
    let claim = reservations(&run);
    assert_eq!(claim.outcome, Outcome::Pass, "{claim:#?}");
    assert_eq!(run.cores[1].throttles[0].from_ns, 200_000);
}

proptest! {
    /// Whatever a vCPU uses, the verdict says whether it was more than its shares.
    #[test]
    fn the_verdict_is_that_of_the_uses(
        uses in prop::collection::vec(0_u64..14, PERIODS as usize),
        late_ns in 0_u64..40_000,
    ) {
        let claim = reservations(&read(regulated(&uses, late_ns), 0, false));
        let mut owed = 0_u64;
        let exceeds = uses.iter().any(|used| {
            owed = (owed + used).saturating_sub(SHARE);
            owed > 0
        });
        let expected = if exceeds { Outcome::Fail } else { Outcome::Pass };
        prop_assert_eq!(claim.outcome, expected);
    }
}

/// VMs on cores 0 to 2, for 300 us: one that lends, one that borrows, one that core 3 may change.
fn pool() -> Scenario {
    let source = r#"
        [scenario]
        name = "pool"
        platform = "raspberry-pi-3"
        duration = "300 us"
        [reservations]
        total = "1 GB/s"
        [[vm]]
        name = "lender"
        cores = "0"
        reservation = { budget = 10, period = "100 us", lends = true }
        [[vm]]
        name = "borrower"
        cores = "1"
        reservation = { budget = 10, period = "100 us", borrows = 4 }
        [[vm]]
        name = "changed"
        cores = "2"
        [vm.reservation]
        budget = 10
        period = "100 us"
        changes = { by = ["manager"], budget = [5, 20], period = ["50 us", "100 us"] }
        [[vm]]
        name = "manager"
        cores = "3"
        [[case]]
        name = "reserved"
    "#;
    parse(source, "pool.toml", Path::new(""), &NoFiles).unwrap_or_else(|error| panic!("{error}"))
}

/// The lender is off after 20 us, the borrower borrows in period 1 what was lent for it, and the
/// third has 5 events in 50 us from 100 us on, and uses so many.
fn pooled(borrowed: u64, used_after_change: u64, lost: u64) -> CaseRun {
    let lend = |period, events| Kind::Lend(Loan { events, period });
    let cores = [
        vec![
            entry(1_000, Kind::On, 0),
            entry(20_000, Kind::Off, 1),
            entry(100_100, Kind::Refill, 1),
            entry(100_200, lend(1, 6), 1),
            entry(200_100, Kind::Refill, 1),
            entry(200_200, lend(2, 9), 1),
            entry(300_100, Kind::Refill, 1),
        ],
        vec![
            entry(1_000, Kind::On, 0),
            entry(100_100, Kind::Refill, 0),
            entry(110_000, Kind::Throttle, 10),
            entry(
                120_000,
                Kind::Borrow(Loan {
                    events: borrowed,
                    period: 1,
                }),
                10,
            ),
            entry(120_100, Kind::Resume, 10),
            entry(200_100, Kind::Refill, 14),
            entry(300_100, Kind::Refill, 14),
        ],
        vec![
            entry(1_000, Kind::On, 0),
            entry(100_100, Kind::Refill, 10),
            entry(150_100, Kind::Refill, 10 + used_after_change),
            entry(200_100, Kind::Refill, 15 + used_after_change),
            entry(250_100, Kind::Refill, 15 + used_after_change),
            entry(300_100, Kind::Refill, 15 + used_after_change),
        ],
        vec![entry(
            70_000,
            Kind::Change(Change {
                vm: 2,
                budget_events: 5,
                period_ns: 50_000,
                from_ns: 100_000,
            }),
            0,
        )],
    ];
    let mut cores = cores.map(|entries| CoreTrace { entries, lost: 0 });
    cores[3].lost = lost;
    read_all(&pool(), &cores, false)
}

#[test]
fn loans_and_changes_are_recorded_and_judged() {
    let run = pooled(4, 5, 0);
    let claim = reservations(&run);
    assert_eq!(claim.outcome, Outcome::Pass, "{claim:#?}");
    let lent: Vec<_> = run.cores[0].loans.iter().collect();
    assert_eq!(lent.len(), 2);
    assert_eq!(
        (lent[0].period_begin_ns, lent[0].lent_bytes),
        (100_000, 6 * EVENT_BYTES)
    );
    assert_eq!(run.cores[1].loans[0].borrowed_bytes, 4 * EVENT_BYTES);
    let change = &run.changes[2][0];
    assert_eq!((change.asked_ns, change.from_ns), (70_000, 100_000));
    assert_eq!(change.shares_bytes, [5 * EVENT_BYTES]);

    // Four events are used of three that were borrowed; seven are borrowed of six that were lent.
    for borrowed in [3, 7] {
        let claim = reservations(&pooled(borrowed, 5, 0));
        assert_eq!(claim.outcome, Outcome::Fail, "{claim:#?}");
    }
    let claim = reservations(&pooled(4, 6, 0));
    assert_eq!(claim.outcome, Outcome::Fail, "{claim:#?}");
    assert_eq!(claim.evidence[0].time_ns, 100_000);
}

#[test]
fn nothing_is_judged_by_loans_and_changes_that_may_be_lost() {
    let claim = reservations(&pooled(7, 6, 1));
    assert_eq!(claim.outcome, Outcome::NotJudged, "{claim:#?}");
}
