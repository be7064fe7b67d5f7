//! Which command comes next.
//!
//! A bank offers at most two commands for the requests of a queue: a column
//! command for its first row hit, and an activate or a precharge for its first
//! row miss. The next command is the one that is legal first, and among those
//! of the same clock the one that [`order`](super::super::order) puts first.
//!
//! Column commands, activates and precharges are looked at apart. A command
//! changes when others of its own class are legal, and in the other classes what
//! its own bank offers and no more, so that their first ones need not be looked
//! for again.

use super::Channel;
use crate::machine::dram::command::Cycle;
use crate::machine::dram::device::{Device, Direction, Kind, MAX_BANKS};
use crate::machine::dram::order::{ORDER_BITS, REFRESH};

/// Order of no command.
const NO_ORDER: u64 = (1 << ORDER_BITS) - 1;

/// What a channel does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Column,
    Activate,
    Precharge,
    PrechargeAll,
    Refresh,
    /// No command: time alone changes what is allowed.
    Look,
}

/// What a channel does next, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) at: Cycle,
    pub(super) action: Action,
    pub(super) direction: Direction,
    pub(super) bank: u8,
}

impl Plan {
    pub(super) const LOOK: Self = Self {
        at: 0,
        action: Action::Look,
        direction: Direction::Read,
        bank: 0,
    };
}

/// Classes of commands that serve requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Column = 0,
    Activate = 1,
    Precharge = 2,
}

const CLASSES: [Class; 3] = [Class::Column, Class::Activate, Class::Precharge];

impl Class {
    #[inline]
    fn kind(self, direction: Direction) -> Kind {
        match self {
            Self::Column => Kind::column(direction),
            Self::Activate => Kind::Activate,
            Self::Precharge => Kind::Precharge,
        }
    }
}

/// The command that goes first among those of one class.
///
/// It stays so until it is legal, if neither its class changes nor its bank.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    /// Clock after that in which it is legal.
    fresh_until: Cycle,
    order: u64,
    bank: u8,
}

/// Clocks from `now`, and below them the order, so that the least key goes first.
#[inline]
fn key(at: Cycle, order: u64, now: Cycle) -> u64 {
    at.saturating_sub(now) << ORDER_BITS | order
}

impl First {
    pub(super) const UNKNOWN: Self = Self {
        fresh_until: 0,
        order: NO_ORDER,
        bank: 0,
    };

    #[inline]
    fn at(&self) -> Cycle {
        self.fresh_until - 1
    }

    /// The first command of `kind` in `banks`.
    ///
    /// One number to compare and no branch on it: which bank wins, and whether its
    /// command is legal already, is too random to predict.
    #[inline]
    fn find(device: &Device, kind: Kind, banks: u64, order: &[u64; MAX_BANKS], now: Cycle) -> Self {
        let (mut least, mut first) = (u64::MAX, 0);
        let mut left = banks;
        while left != 0 {
            let bank = left.trailing_zeros() as usize % MAX_BANKS;
            left &= left - 1;
            let key = (device.legal_from(now, kind, bank) - now) << ORDER_BITS | order[bank];
            first = if key < least { bank } else { first };
            least = least.min(key);
        }
        Self {
            fresh_until: now + (least >> ORDER_BITS) + 1,
            order: least & NO_ORDER,
            bank: first as u8,
        }
    }
}

impl Channel {
    /// The queue that is served.
    #[inline]
    fn direction(&self) -> Direction {
        if self.draining {
            Direction::Write
        } else {
            Direction::Read
        }
    }

    /// Commands of this class are legal at other times than before, or other banks offer them.
    #[inline]
    pub(super) fn forget(&mut self, class: Class) {
        self.first[class as usize].fresh_until = 0;
    }

    pub(super) fn forget_all(&mut self) {
        self.first = [First::UNKNOWN; 3];
    }

    /// Banks that offer a command of `class` for the requests of a queue.
    #[inline]
    fn offering(&self, direction: Direction, class: Class) -> u64 {
        let queue = &self.queues[direction as usize];
        let free = !(self.promised[0] | self.promised[1] | self.blocked);
        let open = self.device.open_banks();
        match class {
            Class::Column => {
                let barred = self.capped[direction as usize] | queue.outranked;
                queue.hits & free & !barred | self.promised[direction as usize]
            }
            Class::Activate => queue.misses & free & !open,
            Class::Precharge => queue.misses & free & open & !queue.held,
        }
    }

    #[inline]
    fn orders(&self, direction: Direction, class: Class) -> &[u64; MAX_BANKS] {
        let queue = &self.queues[direction as usize];
        match class {
            Class::Column => &queue.hit_order,
            Class::Activate | Class::Precharge => &queue.miss_order,
        }
    }

    /// What `bank` offers of `class` has changed; whether the plan may change with it.
    #[inline]
    pub(super) fn update(&mut self, class: Class, bank: usize) -> bool {
        let first = self.first[class as usize];
        if self.now >= first.fresh_until {
            return true;
        }
        if usize::from(first.bank) == bank {
            self.forget(class);
            return true;
        }
        let direction = self.direction();
        if self.offering(direction, class) >> bank & 1 == 0 {
            return false;
        }
        let at = self
            .device
            .legal_at(class.kind(direction), bank)
            .max(self.now);
        let order = self.orders(direction, class)[bank % MAX_BANKS];
        if (at, order, bank) >= (first.at(), first.order, first.bank.into()) {
            return false;
        }
        self.first[class as usize] = First {
            fresh_until: at + 1,
            order,
            bank: bank as u8,
        };
        true
    }

    #[inline]
    fn find_first(&self, class: Class) -> First {
        let direction = self.direction();
        let banks = self.offering(direction, class);
        let order = self.orders(direction, class);
        First::find(&self.device, class.kind(direction), banks, order, self.now)
    }

    /// Whether the first command of the class is what a new look at all banks finds.
    fn is_right(&self, class: Class) -> bool {
        let (kept, found) = (&self.first[class as usize], self.find_first(class));
        let is_none = kept.order == NO_ORDER && found.order == NO_ORDER;
        is_none || (kept.at(), kept.order, kept.bank) == (found.at(), found.order, found.bank)
    }

    /// Chooses the next command.
    #[inline]
    pub(super) fn replan(&mut self) {
        self.choose_direction();
        let direction = self.direction();
        let now = self.now;
        for class in CLASSES {
            if now >= self.first[class as usize].fresh_until {
                self.first[class as usize] = self.find_first(class);
            }
        }
        debug_assert!(CLASSES.iter().all(|&class| self.is_right(class)));
        let keys = self
            .first
            .each_ref()
            .map(|first| key(first.at(), first.order, now));
        let mut least = keys[0].min(keys[1]).min(keys[2]);
        let (action, first) = if least == keys[0] {
            (Action::Column, &self.first[0])
        } else if least == keys[1] {
            (Action::Activate, &self.first[1])
        } else {
            (Action::Precharge, &self.first[2])
        };
        let mut plan = Plan {
            at: now + (least >> ORDER_BITS),
            action,
            direction,
            bank: first.bank,
        };
        if (self.promised[1 - direction as usize] | self.blocked) != 0 {
            self.plan_promised(&mut least, &mut plan);
            self.plan_refreshes(&mut least, &mut plan);
        }
        let look_at = self.look_at.min(self.ordering.changes_at());
        if look_at <= plan.at || least & NO_ORDER == NO_ORDER {
            plan = Plan {
                at: look_at,
                ..Plan::LOOK
            };
        }
        self.plan = plan;
    }

    /// Rows that were opened for requests of the other queue serve those first.
    fn plan_promised(&self, least: &mut u64, plan: &mut Plan) {
        let direction = match self.direction() {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
        };
        let banks = self.promised[direction as usize];
        let order = self.orders(direction, Class::Column);
        let first = First::find(
            &self.device,
            Kind::column(direction),
            banks,
            order,
            self.now,
        );
        let first_key = key(first.at(), first.order, self.now);
        if first_key < *least {
            *least = first_key;
            *plan = Plan {
                at: first.at(),
                action: Action::Column,
                direction,
                bank: first.bank,
            };
        }
    }

    /// Banks whose refresh is due serve what their rows were opened for, are closed and refreshed.
    fn plan_refreshes(&self, least: &mut u64, plan: &mut Plan) {
        for rank in self.device.ranks() {
            let banks = rank.refresh_banks;
            if self.blocked & banks == 0 || (self.promised[0] | self.promised[1]) & banks != 0 {
                continue;
            }
            let open = banks & self.device.open_banks();
            let (at, action) = if open == 0 {
                (self.device.refresh_at(rank, banks), Action::Refresh)
            } else if banks == rank.banks {
                (self.device.precharge_all_at(open), Action::PrechargeAll)
            } else {
                (self.device.precharge_all_at(open), Action::Precharge)
            };
            if key(at, REFRESH, self.now) < *least {
                *least = key(at, REFRESH, self.now);
                *plan = Plan {
                    at: at.max(self.now),
                    action,
                    direction: Direction::Read,
                    bank: banks.trailing_zeros() as u8,
                };
            }
        }
    }
}
