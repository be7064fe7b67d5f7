//! What the scheduler must refuse, and that it goes on as before.

use std::error::Error as AnyError;

use ringfence_linux::counters::{CpuCounters, Source};
use ringfence_linux::scheduler::{Error, Membership, Regulation, Scheduler, Share, Tolerance, Use};

/// Tells the scheduler what it must refuse, and then what it must not.
pub fn check() -> Result<(), Box<dyn AnyError>> {
    let share = |limit_ns, window_ns| {
        Some(Share {
            limit_ns,
            window_ns,
            origin_ns: 0,
        })
    };
    let member = |priority| Membership {
        partition: 0,
        priority,
    };
    let mut scheduler = Scheduler::load()?;
    assert!(scheduler.add_partition(0, &[], None).is_err());
    assert!(scheduler.add_partition(0, &[0], share(2, 1)).is_err());
    let late = Some(Share {
        limit_ns: 1,
        window_ns: 2,
        origin_ns: u64::MAX,
    });
    assert!(scheduler.add_partition(0, &[0], late).is_err());
    assert!(scheduler.add_partition(99, &[0], None).is_err());
    for cpu in [4, 63, 64, u16::MAX] {
        let refused = scheduler.add_partition(0, &[cpu], None);
        assert!(matches!(refused, Err(Error::NoSuchCpu { .. })));
    }
    scheduler.add_partition(0, &[0, 1], share(950_000_000, 1_000_000_000))?;
    assert!(scheduler.add_partition(0, &[2], None).is_err());
    assert!(scheduler.add_partition(1, &[1, 2], None).is_err());
    scheduler.add_partition(1, &[2], None)?;
    scheduler.attach()?;
    assert!(Scheduler::load()?.attach().is_err());
    assert!(scheduler.add_priority(0, 0, Tolerance::UNLIMITED).is_err());
    assert!(
        scheduler
            .add_priority(0, 100, Tolerance::UNLIMITED)
            .is_err()
    );
    assert!(scheduler.add_priority(2, 1, Tolerance::UNLIMITED).is_err());
    let refused = scheduler.join(1, member(7));
    assert!(matches!(refused, Err(Error::NoSuchGang { .. })));
    for _ in 0..2 {
        scheduler.add_priority(0, 7, Tolerance::UNLIMITED)?;
    }
    let refused = scheduler.join(i32::MAX, member(7));
    assert!(matches!(refused, Err(Error::Thread { .. })));
    scheduler.join(0, member(7)).expect_err("0 is no thread");
    let time = CpuCounters::open(Source::Time, 50_000, &[0])?;
    let mut regulation = Regulation {
        cpus: &[0],
        period_ns: 1,
        sample_every: 0,
        by: Use::Events {
            reads: &time,
            writes: None,
        },
    };
    assert!(scheduler.regulate(regulation).is_err());
    regulation.period_ns = 1_000_000;
    scheduler.regulate(regulation)?;
    assert!(scheduler.regulate(regulation).is_err());
    println!("refused all {:?}", scheduler.exit_note());
    Ok(())
}
