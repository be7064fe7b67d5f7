//! Checks a command trace against the device's rules, pair by pair.
//!
//! Knows nothing of the controller: it takes commands and timings and looks at
//! every pair of commands that is close enough to break a rule. Distances count
//! from the last clock of one command to the last clock of the next, as JEDEC's do.

use std::collections::{BTreeSet, VecDeque};

use ringfence_scenario::platform::{Dram, DramTiming, RefreshMode};
use ringfence_sim::machine::dram::command::{Command, CommandKind, Cycle};

/// How the banks of two commands relate.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Bank,
    OtherBank,
    Group,
    OtherGroup,
    Rank,
    OtherRank,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Act,
    Pre,
    PreAll,
    Rd,
    Wr,
    Ref,
    RefBank,
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
    use Kind::{Act, Pre, PreAll, Rd, Ref, RefBank, Wr};
    use Scope::{Bank, Group, OtherBank, OtherGroup, OtherRank, Rank};
    let read_to_write = (t.cl + t.burst + t.turnaround).saturating_sub(t.cwl);
    let write_to_read = (t.cwl + t.burst + t.turnaround).saturating_sub(t.cl);
    let write_data = t.cwl + t.burst;
    let table = [
        ("tRCD", Act, Rd, Bank, t.rcd),
        ("tRCD", Act, Wr, Bank, t.rcd),
        ("tRAS", Act, Pre, Bank, t.ras),
        ("tRAS", Act, PreAll, Rank, t.ras),
        ("tRP", Pre, Act, Bank, t.rp),
        ("tRP", Pre, Ref, Rank, t.rp),
        ("tRP", Pre, RefBank, Bank, t.rp),
        ("tRPab", PreAll, Act, Rank, t.rp_all),
        ("tRPab", PreAll, Ref, Rank, t.rp_all),
        ("tRPab", PreAll, RefBank, Rank, t.rp_all),
        ("tRC", Act, Act, Bank, t.ras + t.rp),
        ("tPPD", Pre, Pre, Rank, t.ppd),
        ("tPPD", Pre, PreAll, Rank, t.ppd),
        ("tPPD", PreAll, Pre, Rank, t.ppd),
        ("tRRD_L", Act, Act, Group, t.rrd_l),
        ("tRRD_S", Act, Act, OtherGroup, t.rrd_s),
        ("tRRD of refreshes", Act, RefBank, OtherBank, t.rrd_s),
        ("tRRD of refreshes", RefBank, Act, OtherBank, t.rrd_s),
        ("tCCD_L", Rd, Rd, Group, t.ccd_l),
        ("tCCD_S", Rd, Rd, OtherGroup, t.ccd_s),
        ("tCCD_L", Wr, Wr, Group, t.ccd_l),
        ("tCCD_S", Wr, Wr, OtherGroup, t.ccd_s),
        ("tRTP", Rd, Pre, Bank, t.rtp),
        ("tRTP", Rd, PreAll, Rank, t.rtp),
        ("tWR", Wr, Pre, Bank, write_data + t.wr),
        ("tWR", Wr, PreAll, Rank, write_data + t.wr),
        ("tWTR_L", Wr, Rd, Group, write_data + t.wtr_l),
        ("tWTR_S", Wr, Rd, OtherGroup, write_data + t.wtr_s),
        ("turnaround", Rd, Wr, Rank, read_to_write),
        ("turnaround", Rd, Wr, OtherRank, read_to_write),
        ("turnaround", Rd, Rd, OtherRank, t.burst + t.turnaround),
        ("turnaround", Wr, Wr, OtherRank, t.burst + t.turnaround),
        ("turnaround", Wr, Rd, OtherRank, write_to_read),
        ("tRFC", Ref, Act, Rank, t.rfc),
        ("tRFC", Ref, Ref, Rank, t.rfc),
        ("tRFCpb", RefBank, Act, Bank, t.rfc_bank),
        ("tRFCpb", RefBank, RefBank, Rank, t.rfc_bank),
    ];
    let rule = |(name, from, to, scope, clocks)| Rule {
        name,
        from,
        to,
        scope,
        clocks,
    };
    table.map(rule).into()
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

    /// Clocks on the command bus.
    fn length(&self, command: &Command) -> Cycle {
        let t = &self.dram.timing;
        let clocks = match kind(command) {
            Kind::Act => t.activate_clocks,
            Kind::Rd | Kind::Wr => t.column_clocks,
            Kind::Pre | Kind::PreAll | Kind::Ref | Kind::RefBank => t.precharge_clocks,
        };
        clocks.into()
    }

    fn last_clock(&self, command: &Command) -> Cycle {
        command.at + self.length(command) - 1
    }

    fn in_scope(&self, scope: Scope, a: &Command, b: &Command) -> bool {
        let same_rank = self.rank(a) == self.rank(b);
        match scope {
            Scope::Bank => a.bank == b.bank,
            Scope::OtherBank => same_rank && a.bank != b.bank,
            Scope::Group => self.group(a) == self.group(b),
            Scope::OtherGroup => same_rank && self.group(a) != self.group(b),
            Scope::Rank => same_rank,
            Scope::OtherRank => !same_rank,
        }
    }

    fn pairs(&mut self, trace: &[Command]) {
        let t = &self.dram.timing;
        let longest = self.rules.iter().map(|rule| rule.clocks).max();
        let reach = Cycle::from(longest.unwrap_or(0).max(t.faw)) + 16;
        let faw = Cycle::from(t.faw);
        let mut recent: VecDeque<&Command> = VecDeque::new();
        for later in trace {
            while recent.front().is_some_and(|old| later.at - old.at >= reach) {
                recent.pop_front();
            }
            let mut activates = 0;
            for (age, earlier) in recent.iter().rev().enumerate() {
                if age == 0 && later.at < earlier.at + self.length(earlier) {
                    self.broken.insert("command bus");
                }
                let distance = self
                    .last_clock(later)
                    .saturating_sub(self.last_clock(earlier));
                for rule in &self.rules {
                    if rule.from == kind(earlier)
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
                    if activates == 4 && distance < faw {
                        self.broken.insert("tFAW");
                    }
                }
            }
            recent.push_back(later);
        }
    }

    /// Rows are open when they are used, closed when they are opened, and refreshed in time and in turn.
    fn states(&mut self, trace: &[Command]) {
        let banks = self.dram.banks_per_channel() as usize;
        let per_rank = banks / self.dram.ranks as usize;
        let mut open = vec![false; banks];
        let mut refreshes = vec![0u64; banks];
        let refi = Cycle::from(self.dram.timing.refi);
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
                    for refreshes in &mut refreshes[of_rank.clone()] {
                        *refreshes += 1;
                    }
                    self.dram.refresh == RefreshMode::AllBanks && !open[of_rank].contains(&true)
                }
                CommandKind::RefreshBank => {
                    let is_in_turn = refreshes[of_rank].iter().all(|&n| n >= refreshes[bank]);
                    refreshes[bank] += 1;
                    self.dram.refresh == RefreshMode::PerBank && is_in_turn && !open[bank]
                }
            };
            if !legal {
                self.broken.insert("row state");
            }
            if refi > 0 && refreshes.iter().any(|&n| command.at / refi > n + 1) {
                self.broken.insert("tREFI");
            }
        }
    }
}

fn kind(command: &Command) -> Kind {
    match command.kind {
        CommandKind::Activate { .. } => Kind::Act,
        CommandKind::Precharge => Kind::Pre,
        CommandKind::PrechargeAll => Kind::PreAll,
        CommandKind::Read => Kind::Rd,
        CommandKind::Write => Kind::Wr,
        CommandKind::Refresh => Kind::Ref,
        CommandKind::RefreshBank => Kind::RefBank,
    }
}
