//! Runs the work of a program as jobs that `ringfence trace record` sees.

use crate::job_mark::JobMarks;
use crate::page_aligned::PageAligned;

/// Does `work` on `state` for each of `jobs` jobs; gives back the state that they leave.
///
/// Work that depends on nothing but its state, and leaves there what it found,
/// gives jobs of equal accesses.
pub fn repeat<State>(state: State, jobs: u32, work: impl Fn(&mut State)) -> State {
    let mut marked = PageAligned(Marked {
        state,
        marks: JobMarks::map(),
    });
    for _ in 0..jobs {
        run_one(&mut marked.0, &work);
    }
    marked.0.state
}

/// All that a job touches besides slices of its state.
struct Marked<State> {
    state: State,
    marks: JobMarks,
}

/// One job. Not inlined, so that its stack lies below the page-aligned state.
#[inline(never)]
fn run_one<State>(marked: &mut Marked<State>, work: &impl Fn(&mut State)) {
    marked.marks.begin();
    work(&mut marked.state);
    marked.marks.end();
}
