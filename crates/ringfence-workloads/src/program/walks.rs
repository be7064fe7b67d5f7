//! Bw and PLL, which are the aggressors.

use ringfence_scenario::model;

use super::{Part, ProgramError, Setting};
use crate::aggressor::{Access, Bank, Kind, Shape, Walk};

/// Accesses of a piece of endless work.
const STEP_ACCESSES: u64 = 10_000;

struct Walker {
    walk: Walk,
    accesses_per_job: u64,
}

/// Threads split the array.
pub(super) fn bandwidth(
    model: &model::Bandwidth,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let lines = setting.lines(model.working_set_bytes);
    each(setting, model.passes, |thread| {
        let share = setting.share(lines, thread);
        Ok(Shape {
            kind: Kind::Bandwidth,
            access: access(model.access),
            size_bytes: (share.end - share.start) * setting.line_bytes,
            line_bytes: setting.line_bytes,
        })
    })
}

/// Each thread has lists of its own.
pub(super) fn linked_lists(
    model: &model::LinkedLists,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let bank = model
        .bank
        .map(|bank| find_bank(bank, setting))
        .transpose()?;
    each(setting, model.passes, |_| {
        Ok(Shape {
            kind: Kind::LinkedLists {
                lists: model.lists.into(),
                bank: bank.clone().flatten(),
            },
            access: access(model.access),
            size_bytes: setting.lines(model.working_set_bytes) * setting.line_bytes,
            line_bytes: setting.line_bytes,
        })
    })
}

/// The bank by its functions; `None` is the only one of a cache that has one.
fn find_bank(bank: u16, setting: &Setting) -> Result<Option<Bank>, ProgramError> {
    let functions = &setting.bank_functions;
    let banks = 1_u64.checked_shl(functions.len() as u32).unwrap_or(0);
    if u64::from(bank) >= banks {
        return Err(ProgramError::Bank { bank, banks });
    }
    Ok((banks > 1).then(|| Bank {
        functions: functions.clone(),
        number: bank.into(),
    }))
}

fn each(
    setting: &Setting,
    passes: u32,
    shape: impl Fn(u16) -> Result<Shape, ProgramError>,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let walkers = (0..setting.threads).map(|thread| {
        let walk = Walk::new(&shape(thread)?)?;
        let walker = Walker {
            accesses_per_job: walk.accesses_per_pass().saturating_mul(passes.into()),
            walk,
        };
        Ok(Box::new(walker) as Box<dyn Part>)
    });
    walkers.collect()
}

fn access(access: model::Access) -> Access {
    match access {
        model::Access::Read => Access::Read,
        model::Access::Write => Access::Write,
    }
}

impl Part for Walker {
    fn job(&mut self, _job: u64) {
        self.walk.run(self.accesses_per_job);
    }

    fn step(&mut self) -> u64 {
        self.walk.run(STEP_ACCESSES)
    }
}
