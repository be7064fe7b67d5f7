//! Commands as the device sees them.

/// Time in memory clocks since the start of the case.
pub type Cycle = u64;

/// What the controller tells the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// Opens a row of a bank.
    Activate {
        /// The row.
        row: u32,
    },
    /// Closes the open row of a bank.
    Precharge,
    /// Closes every bank of a rank.
    PrechargeAll,
    /// One burst out of the open row.
    Read,
    /// One burst into the open row.
    Write,
    /// Refreshes a rank whose banks are all closed.
    Refresh,
    /// Refreshes one closed bank.
    RefreshBank,
}

/// A command on the command bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Its first clock on the bus.
    pub at: Cycle,
    /// What.
    pub kind: CommandKind,
    /// Bank of the channel, `(rank * bank_groups + group) * banks_per_group + bank`;
    /// the first bank of the rank for [`CommandKind::PrechargeAll`] and [`CommandKind::Refresh`].
    pub bank: u8,
}

/// Sees every command; `()` ignores them at no cost.
pub trait CommandSink {
    /// Called in order of time.
    fn command(&mut self, command: Command);
}

impl CommandSink for () {
    #[inline]
    fn command(&mut self, _: Command) {}
}

impl CommandSink for Vec<Command> {
    fn command(&mut self, command: Command) {
        self.push(command);
    }
}
