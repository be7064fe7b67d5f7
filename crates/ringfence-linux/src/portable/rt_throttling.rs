//! The kernel's own limit on real-time threads, which the agent is one of.
//!
//! The kernel stops all of them on a CPU where they had 950 ms of a second, and so also the agent
//! that enforces the share limit of the scenario: it comes tens of milliseconds late where a gang
//! uses its share, as the kernel's seconds begin at other times than the windows of the limit. While
//! the agent lives it is the one who leaves time to others; if it dies the guard, which is above all
//! gangs, puts the limit back.

use crate::changes::subject::{State, Subject};
use crate::changes::{ChangeError, Stage};

const FILE: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const UNLIMITED: &str = "-1";

/// Lifts the limit through `stage`, which puts it back. What a reader of the record should know if
/// the machine does not allow it: the run goes on with the limit.
///
/// # Errors
/// The change cannot be written down.
pub(super) fn lift(stage: &mut impl Stage) -> Result<Option<String>, ChangeError> {
    let limit = Subject::Value(FILE.into());
    match stage.change(limit, State::Text(UNLIMITED.to_owned())) {
        Ok(()) => Ok(None),
        // This kernel has no such limit.
        Err(ChangeError::Missing { .. }) => Ok(None),
        Err(error @ ChangeError::Journal { .. }) => Err(error),
        Err(error) => Ok(Some(format!(
            "{error}: the kernel may stop the agent with the gangs for 50 ms of a second"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Answers every change so.
    struct Answers(fn(String) -> Result<(), ChangeError>);

    impl Stage for Answers {
        fn change(&mut self, subject: Subject, to: State) -> Result<(), ChangeError> {
            self.0(subject.describe(None, &to))
        }

        fn take_over(&mut self, _: Subject) -> Result<(), ChangeError> {
            unreachable!("the limit is written once")
        }
    }

    fn error() -> io::Error {
        io::ErrorKind::PermissionDenied.into()
    }

    #[test]
    fn a_machine_that_refuses_is_told_and_one_that_has_no_limit_is_not() {
        let (lifted, none) = (|_| Ok(()), |what| Err(ChangeError::Missing { what }));
        assert_eq!(lift(&mut Answers(lifted)).unwrap(), None);
        assert_eq!(lift(&mut Answers(none)).unwrap(), None);
        let refused = |what| {
            Err(ChangeError::Refused {
                what,
                error: error(),
            })
        };
        let remark = lift(&mut Answers(refused)).unwrap().unwrap();
        assert!(
            remark.starts_with("cannot write '-1' to /proc/sys/kernel/sched_rt_runtime_us:"),
            "{remark}"
        );
    }

    #[test]
    fn what_cannot_be_put_back_is_not_lifted() {
        let unwritten = |what| {
            Err(ChangeError::Journal {
                what,
                error: error(),
            })
        };
        assert!(lift(&mut Answers(unwritten)).is_err());
    }
}
