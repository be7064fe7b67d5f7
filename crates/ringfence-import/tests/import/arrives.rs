//! What tables say arrives in the record.

use proptest::prelude::*;
use ringfence_analysis::accuracy::trajectories;
use ringfence_analysis::case::JobEnd;

use crate::flight::*;

#[test]
fn a_run_becomes_a_record() {
    let made = imported(&files()).unwrap();
    assert_eq!(
        (made.header.scenario.as_str(), made.header.seed),
        ("flight", 4)
    );
    let [case] = &read(&made)[..] else {
        panic!("one case")
    };
    assert_eq!(case.end_ns, 2_000_000_000);
    assert_eq!(case.case.gangs.len(), 1);
    assert!(case.case.tasks[1].sporadic);
    let ends: Vec<_> = case.jobs[0].iter().map(|job| job.end).collect();
    let expected = [
        JobEnd::Finished(4_000_000),
        JobEnd::Dropped(100_000_000),
        JobEnd::Unfinished,
    ];
    assert_eq!(ends, expected);
    assert_eq!(case.jobs[1][0].response_ns(), Some(5_000_000));
    let positions: Vec<_> = case.trajectories[0]
        .positions
        .iter()
        .map(|p| p.place.at_ns)
        .collect();
    assert_eq!(positions, [0, 50_000_000, 100_000_000]);
    let head = &trajectories(case)[0];
    assert_eq!(
        head.error_um.as_ref().unwrap().max,
        0,
        "a shift is taken out"
    );
    let values: Vec<_> = case.measures[0].iter().map(|one| one.value).collect();
    assert_eq!(values, [121_600, 301_000]);
    assert_eq!(case.case.accuracy.measures[0].limit, Some(300_000));
}

#[test]
fn without_alignment_a_shift_is_an_error() {
    let mut files = files();
    let text = DESCRIPTION.replace("median_limit_m = 0.3", "aligned = false");
    files.0.insert("results/run.toml".into(), text.into());
    let case = &read(&imported(&files).unwrap())[0];
    let head = &trajectories(case)[0];
    assert_eq!(head.error_um.as_ref().unwrap().min, 1_000_000);
}

/// Jobs in the order of release: what comes before the release, until the start, and until the finish.
fn any_jobs() -> impl Strategy<Value = Vec<(u32, Option<u32>, Option<u32>)>> {
    prop::collection::vec(any::<(u32, Option<u32>, Option<u32>)>(), 0..20)
}

fn text_of(jobs: &[(u32, Option<u32>, Option<u32>)]) -> (String, Vec<(u64, Option<u64>, JobEnd)>) {
    let mut text = String::from("stage,dropped_ns,released_ns,started_ns,finished_ns\n");
    let mut expected = Vec::new();
    let mut released_ns = 0;
    let shown = |ns: Option<u64>| ns.map_or_else(String::new, |ns| ns.to_string());
    for &(gap_ns, wait_ns, work_ns) in jobs {
        released_ns += u64::from(gap_ns);
        let started_ns = wait_ns.map(|wait_ns| released_ns + u64::from(wait_ns));
        let finished_ns = started_ns
            .zip(work_ns)
            .map(|(start, work)| start + u64::from(work));
        let dropped_ns = match started_ns {
            None => work_ns.map(|work_ns| released_ns + u64::from(work_ns)),
            Some(_) => None,
        };
        text += &format!(
            "front-end,{},{released_ns},{},{}\n",
            shown(dropped_ns),
            shown(started_ns),
            shown(finished_ns)
        );
        let end = match (finished_ns, dropped_ns) {
            (Some(ns), _) => JobEnd::Finished(ns),
            (None, Some(ns)) => JobEnd::Dropped(ns),
            (None, None) => JobEnd::Unfinished,
        };
        expected.push((released_ns, started_ns, end));
    }
    (text, expected)
}

proptest! {
    #[test]
    fn every_job_arrives_as_its_row_says(jobs in any_jobs()) {
        let (text, expected) = text_of(&jobs);
        let mut files = files();
        files.0.insert("results/jobs.csv".into(), text.into());
        let case = &read(&imported(&files).unwrap())[0];
        let found: Vec<_> = case.jobs[0].iter().map(|job| (job.released_ns, job.started_ns, job.end)).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(case.jobs[1].is_empty());
    }

    #[test]
    fn every_position_arrives_to_the_micrometre(
        places in prop::collection::vec((1_u64..1 << 40, prop::array::uniform3(-1_000_000_000..1_000_000_000_i64)), 1..20),
    ) {
        let mut time_ns = 0;
        let mut text = String::new();
        let mut expected = Vec::new();
        for (gap_ns, um) in &places {
            time_ns += gap_ns;
            let [x, y, z] = um.map(|um| um as f64 / 1e6);
            text += &format!("{}.{:09} {x} {y} {z} 0 0 0 1\n", time_ns / 1_000_000_000, time_ns % 1_000_000_000);
            expected.push((time_ns - places[0].0, *um));
        }
        let mut files = files();
        files.0.insert("results/truth.tum".into(), text.clone().into());
        files.0.insert("results/head.tum".into(), text.into());
        let case = &read(&imported(&files).unwrap())[0];
        let found = case.trajectories[0].positions.iter().map(|p| (p.place.at_ns, p.place.position_um));
        prop_assert_eq!(found.collect::<Vec<_>>(), expected.clone());
        let truth = case.trajectories[0].truth.iter().map(|p| (p.at_ns, p.position_um));
        prop_assert_eq!(truth.collect::<Vec<_>>(), expected);
    }

}
