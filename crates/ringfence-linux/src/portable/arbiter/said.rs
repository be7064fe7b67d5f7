//! What members say of themselves, where the kernel does not tell it.

use super::{Arbiter, Hold};
use crate::portable::news::Word;

impl Arbiter {
    /// A thread has said something. It comes to a CPU before it can say that it has work.
    pub fn said(&mut self, word: &Word) {
        let Some(member) = self.members.get(word.tid) else {
            return;
        };
        let seen_ns = member.deaf_until_ns.max(member.known_ns);
        let is_held = self.gangs[member.gang].hold != Hold::None;
        // A look since then has shown more; one that is to be frozen is only seen to be off its CPU.
        if word.time_ns >= seen_ns && !is_held {
            self.looked(word.tid, Some(word.has_work), word.time_ns);
        }
    }
}
