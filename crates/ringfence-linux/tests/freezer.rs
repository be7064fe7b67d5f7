//! The freezers of the machine that these tests run on, of both versions if it has them.
//! Without the right to make groups there are none.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use ringfence_linux::changes::Changes;
use ringfence_linux::changes::live::Live;
use ringfence_linux::portable::Freezer;
use ringfence_linux::thread::Stat;

/// How long the kernel may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that never sleeps by itself, until it is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        let shell = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn();
        Self(shell.unwrap())
    }

    fn is_runnable(&self) -> bool {
        let stat = std::fs::read(format!("/proc/{}/stat", self.0.id())).unwrap();
        Stat::parse(&stat).unwrap().state == 'R'
    }

    #[track_caller]
    fn becomes(&self, runnable: bool) {
        let begin = Instant::now();
        while self.is_runnable() != runnable {
            assert!(begin.elapsed() < PATIENCE, "runnable: {}", !runnable);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn what_is_in_a_frozen_group_stops_and_goes_on() {
    for freezer in Freezer::all() {
        let folder = tempfile::tempdir().unwrap();
        let mut changes = Changes::begin(folder.path(), "test", Live::default()).unwrap();
        let name = format!("ringfence-test-{}", std::process::id());
        freezer.make(&name, &mut changes).unwrap();
        let group = freezer.open(&name).unwrap();
        let busy = Busy::start();
        group.add(busy.0.id().cast_signed()).unwrap();
        busy.becomes(true);
        for _ in 0..3 {
            group.set_frozen(true).unwrap();
            busy.becomes(false);
            group.set_frozen(false).unwrap();
            busy.becomes(true);
        }
        // What is undone is thawed, too.
        group.set_frozen(true).unwrap();
        busy.becomes(false);
        let undone = changes.undo();
        assert!(undone.iter().all(|one| one.outcome.is_good()), "{undone:?}");
        busy.becomes(true);
        eprintln!("tried {:?}", freezer.version());
    }
}
