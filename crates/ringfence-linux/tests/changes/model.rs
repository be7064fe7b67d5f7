//! A machine in memory, with subjects of every kind, and changes to it by chance.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ringfence_linux::changes::machine::Machine;
use ringfence_linux::changes::subject::{Hierarchy, HierarchyKind, State, Subject};
use ringfence_linux::class::{Class, Fair};
use ringfence_linux::thread::Thread;

/// A folder in memory where there is one, as `/run` is: a disk takes its time to sync.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// How everything on the machine is.
pub type World = BTreeMap<Subject, State>;

/// A machine that tells `watch` after every change.
pub struct Model<W: FnMut(&World)> {
    pub world: World,
    pub watch: W,
}

impl<W: FnMut(&World)> Machine for Model<W> {
    fn read(&self, subject: &Subject) -> io::Result<Option<State>> {
        let is_in_lost_group = match subject {
            Subject::Freezer(folder) => !self.exists(folder),
            _ => false,
        };
        Ok(self
            .world
            .get(subject)
            .filter(|_| !is_in_lost_group)
            .cloned())
    }

    fn set(&mut self, subject: &Subject, state: &State) -> io::Result<()> {
        match (subject, state) {
            (Subject::Group(folder), State::Exists(false)) if self.has_members(folder) => {
                return Err(io::Error::from_raw_os_error(libc::EBUSY));
            }
            (Subject::ThreadGroup(_, hierarchy), State::Group(group))
                if !self.exists(&join(&hierarchy.mount, group)) =>
            {
                return Err(io::Error::from_raw_os_error(libc::ENOENT));
            }
            (Subject::Freezer(folder), _) if !self.exists(folder) => {
                return Err(io::Error::from_raw_os_error(libc::ENOENT));
            }
            _ => {}
        }
        self.world.insert(subject.clone(), state.clone());
        (self.watch)(&self.world);
        Ok(())
    }

    fn boot_id(&self) -> io::Result<String> {
        Ok("this boot".into())
    }
}

impl<W: FnMut(&World)> Model<W> {
    fn exists(&self, folder: &Path) -> bool {
        let group = self.world.get(&Subject::Group(folder.to_owned()));
        folder == freezer().mount || group == Some(&State::Exists(true))
    }

    fn has_members(&self, folder: &Path) -> bool {
        self.world
            .iter()
            .any(|(subject, state)| match (subject, state) {
                (Subject::ThreadGroup(_, hierarchy), State::Group(group)) => {
                    join(&hierarchy.mount, group) == folder
                }
                _ => false,
            })
    }
}

fn join(mount: &Path, group: &Path) -> PathBuf {
    mount.join(group.strip_prefix("/").unwrap())
}

pub fn freezer() -> Hierarchy {
    Hierarchy {
        mount: "/sys/fs/cgroup/freezer".into(),
        kind: HierarchyKind::CgroupV1("freezer".into()),
    }
}

fn thread(index: u8) -> Thread {
    Thread {
        tid: 100 + i32::from(index),
        start_ticks: 7,
    }
}

fn group(index: u8) -> PathBuf {
    freezer().mount.join(format!("group{index}"))
}

fn value(index: u8) -> Subject {
    Subject::Value(format!("/proc/sys/kernel/value{index}").into())
}

/// Three subjects of each kind.
pub fn world() -> World {
    let mut world = World::new();
    for index in 0..3 {
        world.insert(value(index), State::Text("old".into()));
        world.insert(Subject::Group(group(index)), State::Exists(false));
        world.insert(Subject::Freezer(group(index)), State::Frozen(false));
        let thread = thread(index);
        let in_group = Subject::ThreadGroup(thread, freezer());
        world.insert(in_group, State::Group("/".into()));
        world.insert(Subject::Class(thread), State::Class(Class::NORMAL));
        world.insert(Subject::Affinity(thread), State::Cpus(vec![0, 1]));
        world.insert(share(index), State::Text("fff".into()));
    }
    world
}

fn share(domain: u8) -> Subject {
    Subject::Share {
        group: "/sys/fs/resctrl".into(),
        resource: "L3".into(),
        domain: domain.into(),
    }
}

/// A change by chance, or a subject that is taken over (without a state).
pub fn any_change() -> impl Strategy<Value = (Subject, Option<State>)> {
    let change = (0..7_u8, 0..3_u8, 0..4_u8).prop_map(|(kind, index, to)| match kind {
        0 => (value(index), State::Text(format!("new {to}"))),
        1 => (Subject::Group(group(index)), State::Exists(to > 0)),
        2 => (Subject::Freezer(group(index)), State::Frozen(to > 1)),
        3 => {
            let into = match to {
                0 => PathBuf::from("/"),
                to => format!("/group{}", to - 1).into(),
            };
            let subject = Subject::ThreadGroup(thread(index), freezer());
            (subject, State::Group(into))
        }
        4 => (Subject::Class(thread(index)), State::Class(class(to))),
        5 => {
            let cpus = State::Cpus(vec![u16::from(to)]);
            (Subject::Affinity(thread(index)), cpus)
        }
        _ => (share(index), State::Text(format!("{to}f"))),
    });
    (change, 0..8_u8).prop_map(|((subject, to), chance)| (subject, (chance > 0).then_some(to)))
}

fn class(choice: u8) -> Class {
    match choice {
        0 => Class::Fifo { priority: 50 },
        1 => Class::RoundRobin { priority: 1 },
        2 => Class::Other(Fair {
            nice: 5,
            slice_ns: None,
        }),
        _ => Class::Deadline {
            runtime_ns: 1_000_000,
            deadline_ns: 2_000_000,
            period_ns: 4_000_000,
            flags: 0,
        },
    }
}
