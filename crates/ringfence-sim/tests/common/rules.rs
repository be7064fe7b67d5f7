//! Checks a command trace against the device's rules, pair by pair.
//!
//! Knows nothing of the controller: it takes commands and timings and looks at
//! every pair of commands that is close enough to break a rule.

use std::collections::BTreeSet;

use ringfence_scenario::platform::{Dram, DramTiming};
use ringfence_sim::machine::dram::command::{Command, CommandKind, Cycle};

/// How two banks relate.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Bank,
    Group,
    OtherGroup,
    Rank,
    OtherRank,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Act,
    Pre,
    Rd,
    Wr,
    Ref,
}

/// A least distance from one command to a later one.
struct Rule {
    name: &'static str,
    from: Kind,
    to: Kind,
    scope: Scope,
    clocks: u32,
}

fn rules(t: &DramTiming) -> Vec<Rule> {
    use Kind::{Act, Pre, Rd, Ref, Wr};
    use Scope::{Bank, Group, OtherGroup, OtherRank, Rank};
    let rule = |name, from, to, scope, clocks| Rule {
        name,
        from,
        to,
        scope,
        clocks,
    };
    let read_to_write = (t.cl + t.burst + t.turnaround).saturating_sub(t.cwl);
    vec![
        rule("tRCD", Act, Rd, Bank, t.rcd),
        rule("tRCD", Act, Wr, Bank, t.rcd),
        rule("tRAS", Act, Pre, Bank, t.ras),
        rule("tRP", Pre, Act, Bank, t.rp),
        rule("tRP", Pre, Ref, Rank, t.rp),
        rule("tRC", Act, Act, Bank, t.ras + t.rp),
        rule("tRRD_L", Act, Act, Group, t.rrd_l),
        rule("tRRD_S", Act, Act, OtherGroup, t.rrd_s),
        rule("tCCD_L", Rd, Rd, Group, t.ccd_l),
        rule("tCCD_S", Rd, Rd, OtherGroup, t.ccd_s),
        rule("tCCD_L", Wr, Wr, Group, t.ccd_l),
        rule("tCCD_S", Wr, Wr, OtherGroup, t.ccd_s),
        rule("tRTP", Rd, Pre, Bank, t.rtp),
        rule("tWR", Wr, Pre, Bank, t.cwl + t.burst + t.wr),
        rule("tWTR_L", Wr, Rd, Group, t.cwl + t.burst + t.wtr_l),
        rule("tWTR_S", Wr, Rd, OtherGroup, t.cwl + t.burst + t.wtr_s),
        rule("turnaround", Rd, Wr, Rank, read_to_write),
        rule("turnaround", Rd, Wr, OtherRank, read_to_write),
        rule("turnaround", Rd, Rd, OtherRank, t.burst + t.turnaround),
        rule("turnaround", Wr, Wr, OtherRank, t.burst + t.turnaround),
        rule(
            "turnaround",
            Wr,
            Rd,
            OtherRank,
            (t.cwl + t.burst + t.turnaround).saturating_sub(t.cl),
        ),
        rule("tRFC", Ref, Act, Rank, t.rfc),
        rule("tRFC", Ref, Ref, Rank, t.rfc),
    ]
}

/// The names of all broken rules.
pub fn violations(dram: &Dram, trace: &[Command]) -> BTreeSet<&'static str> {
    let mut checker = Checker {
        dram,
        rules: rules(&dram.timing),
        broken: BTreeSet::new(),
    };
    checker.pairs(trace);
    checker.states(trace);
    checker.broken
}

struct Checker<'a> {
    dram: &'a Dram,
    rules: Vec<Rule>,
    broken: BTreeSet<&'static str>,
}

impl Checker<'_> {
    fn group(&self, command: &Command) -> u32 {
        u32::from(command.bank) / self.dram.banks_per_group
    }

    fn rank(&self, command: &Command) -> u32 {
        self.group(command) / self.dram.bank_groups
    }

    fn in_scope(&self, scope: Scope, a: &Command, b: &Command) -> bool {
        let whole_rank =
            |c: &Command| matches!(c.kind, CommandKind::PrechargeAll | CommandKind::Refresh);
        let same_rank = self.rank(a) == self.rank(b);
        match scope {
            Scope::Bank => a.bank == b.bank || (same_rank && (whole_rank(a) || whole_rank(b))),
            Scope::Group => self.group(a) == self.group(b),
            Scope::OtherGroup => same_rank && self.group(a) != self.group(b),
            Scope::Rank => same_rank,
            Scope::OtherRank => !same_rank,
        }
    }

    fn pairs(&mut self, trace: &[Command]) {
        let t = &self.dram.timing;
        let reach = self
            .rules
            .iter()
            .map(|rule| rule.clocks)
            .max()
            .unwrap_or(0)
            .max(t.faw);
        for (index, later) in trace.iter().enumerate() {
            let mut activates = 0;
            for earlier in trace[..index].iter().rev() {
                let distance = later.at - earlier.at;
                if distance == 0 {
                    self.broken.insert("one command a clock");
                }
                if distance >= reach.into() {
                    break;
                }
                for rule in &self.rules {
                    if !self.broken.contains(rule.name)
                        && rule.from == kind(earlier)
                        && rule.to == kind(later)
                        && distance < rule.clocks.into()
                        && self.in_scope(rule.scope, earlier, later)
                    {
                        self.broken.insert(rule.name);
                    }
                }
                let both_activate = kind(earlier) == Kind::Act && kind(later) == Kind::Act;
                if both_activate && self.in_scope(Scope::Rank, earlier, later) {
                    activates += 1;
                    if activates == 4 && distance < t.faw.into() {
                        self.broken.insert("tFAW");
                    }
                }
            }
        }
    }

    /// Rows are open when they are used, closed when they are opened, and refreshed in time.
    fn states(&mut self, trace: &[Command]) {
        let banks = self.dram.ranks * self.dram.bank_groups * self.dram.banks_per_group;
        let mut open = vec![false; banks as usize];
        let mut refreshes = vec![0u64; self.dram.ranks as usize];
        let per_rank = (banks / self.dram.ranks) as usize;
        for command in trace {
            let rank = self.rank(command) as usize;
            let of_rank = rank * per_rank..(rank + 1) * per_rank;
            let bank = usize::from(command.bank);
            let legal = match command.kind {
                CommandKind::Activate { .. } => !std::mem::replace(&mut open[bank], true),
                CommandKind::Precharge => std::mem::replace(&mut open[bank], false),
                CommandKind::Read | CommandKind::Write => open[bank],
                CommandKind::PrechargeAll => {
                    open[of_rank].fill(false);
                    true
                }
                CommandKind::Refresh => {
                    refreshes[rank] += 1;
                    !open[of_rank].contains(&true)
                }
            };
            if !legal {
                self.broken.insert("row state");
            }
            let refi = Cycle::from(self.dram.timing.refi);
            if refi > 0 && command.at / refi > refreshes[rank] + 1 {
                self.broken.insert("tREFI");
            }
        }
    }
}

fn kind(command: &Command) -> Kind {
    match command.kind {
        CommandKind::Activate { .. } => Kind::Act,
        CommandKind::Precharge | CommandKind::PrechargeAll => Kind::Pre,
        CommandKind::Read => Kind::Rd,
        CommandKind::Write => Kind::Wr,
        CommandKind::Refresh => Kind::Ref,
    }
}
