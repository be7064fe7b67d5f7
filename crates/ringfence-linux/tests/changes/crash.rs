//! Whenever a run ends, what it changed is undone: by itself, or by `restore`.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use ringfence_linux::changes::journal::Journal;
use ringfence_linux::changes::restore::{Restored, restore};
use ringfence_linux::changes::subject::{State, Subject};
use ringfence_linux::changes::undo::Outcome;
use ringfence_linux::changes::{Changes, Stage};

use crate::model::{Model, World, any_change, scratch, world};

/// The journal and the machine, at one moment of a run.
type Moment = (Vec<u8>, World);

/// Makes the changes and undoes them; every moment between two of the machine's changes.
fn moments(changes: &[(Subject, Option<State>)]) -> Vec<Moment> {
    let folder = scratch();
    let moments = RefCell::new(vec![(Vec::new(), world())]);
    let note = |world: &World| {
        let journal = fs::read(Journal::path(folder.path())).unwrap_or_default();
        moments.borrow_mut().push((journal, world.clone()));
    };
    let machine = Model {
        world: world(),
        watch: note,
    };
    let mut run = Changes::begin(folder.path(), "test", machine).unwrap();
    for (subject, to) in changes {
        // Some of them the machine refuses.
        let _ = match to {
            Some(to) => run.change(subject.clone(), to.clone()),
            None => run.take_over(subject.clone()).map(|()| {
                // As its owner may: not through the journal.
                let machine = run.machine();
                if let Some(State::Frozen(frozen)) = machine.world.get(subject).cloned() {
                    machine
                        .world
                        .insert(subject.clone(), State::Frozen(!frozen));
                }
            }),
        };
        note(&run.machine().world.clone());
    }
    for undone in run.undo() {
        assert!(undone.outcome.is_good(), "{undone}");
    }
    let last = moments.borrow().last().unwrap().1.clone();
    assert_eq!(last, world(), "undo left something");
    assert!(!Journal::path(folder.path()).exists());
    moments.into_inner()
}

/// What a restart finds after a crash at that moment; the world that it leaves.
fn restored(journal: &[u8], found: &World) -> (World, Restored) {
    let folder = scratch();
    fs::write(Journal::path(folder.path()), journal).unwrap();
    let mut machine = Model {
        world: found.clone(),
        watch: |_: &World| {},
    };
    let restored = restore(folder.path(), &mut machine).unwrap();
    assert!(!Journal::path(folder.path()).exists());
    (machine.world, restored)
}

proptest! {
    /// Between two changes of the machine the journal grows, and a crash may cut it anywhere.
    #[test]
    fn a_crash_at_any_moment_and_byte_is_restored(
        changes in prop::collection::vec(any_change(), 0..12),
        cut in 0.0..1.0,
    ) {
        let moments = moments(&changes);
        for pair in moments.windows(2) {
            let [(earlier, machine), (later, _)] = pair else { unreachable!() };
            // At the end it is taken away.
            let later = if later.len() < earlier.len() { earlier } else { later };
            let grown = later.len() - earlier.len();
            for length in [0, (grown as f64 * cut) as usize, grown] {
                let (after, _) = restored(&later[..earlier.len() + length], machine);
                prop_assert_eq!(&after, &world());
            }
        }
    }

    /// Restoring is interrupted, too, and begins again.
    #[test]
    fn restoring_twice_is_restoring_once(
        changes in prop::collection::vec(any_change(), 0..12),
        crash in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
    ) {
        let moments = moments(&changes);
        let (journal, machine) = crash.get(&moments);
        let folder = scratch();
        fs::write(Journal::path(folder.path()), journal).unwrap();
        let mut seen = vec![(journal.clone(), machine.clone())];
        let watch = |world: &World| {
            seen.push((fs::read(Journal::path(folder.path())).unwrap(), world.clone()));
        };
        restore(folder.path(), &mut Model { world: machine.clone(), watch }).unwrap();
        let (journal, machine) = second.get(&seen);
        prop_assert_eq!(restored(journal, machine).0, world());
    }

    /// A value that is neither ours nor the old one is left, and all others are restored.
    #[test]
    fn what_somebody_else_changed_is_left_and_told(
        changes in prop::collection::vec(any_change(), 0..12),
        crash in any::<prop::sample::Index>(),
    ) {
        let moments = moments(&changes);
        let (journal, machine) = crash.get(&moments);
        let theirs = Subject::Value("/proc/sys/kernel/value1".into());
        let foreign = State::Text("theirs".into());
        let mut machine = machine.clone();
        machine.insert(theirs.clone(), foreign.clone());
        let (mut after, outcome) = restored(journal, &machine);
        let name = "value1";
        if let Restored::Changes { undone, .. } = outcome {
            for one in undone {
                // Taken over, it is ours whatever it is.
                let is_left = matches!(one.outcome, Outcome::ChangedByOthers { .. });
                prop_assert!(one.outcome.is_good() || is_left && one.action.contains(name));
            }
        }
        let is_taken_over = |(subject, to): &(Subject, Option<State>)| {
            *subject == theirs && to.is_none()
        };
        if !changes.iter().any(is_taken_over) {
            prop_assert_eq!(after.insert(theirs.clone(), world()[&theirs].clone()), Some(foreign));
        } else {
            after.insert(theirs.clone(), world()[&theirs].clone());
        }
        prop_assert_eq!(after, world());
    }
}

#[test]
fn a_journal_of_an_earlier_boot_is_taken_away_and_nothing_is_written() {
    let changes = [(
        Subject::Value("/proc/sys/kernel/value0".into()),
        Some(State::Text("new".into())),
    )];
    let moments = moments(&changes);
    let (journal, machine) = &moments[1];
    let journal = String::from_utf8(journal.clone()).unwrap();
    let journal = journal.replace("this boot", "another boot");
    let (after, outcome) = restored(journal.as_bytes(), machine);
    assert_eq!(&after, machine);
    assert!(
        matches!(outcome, Restored::EarlierBoot { .. }),
        "{outcome:?}"
    );
}

#[test]
fn nothing_left_is_no_error() {
    let folder = scratch();
    let mut machine = Model {
        world: world(),
        watch: |_: &World| {},
    };
    for folder in [folder.path(), Path::new("/no/such/folder")] {
        let found = restore(folder, &mut machine).unwrap();
        assert_eq!(found, Restored::NothingLeft);
    }
}
