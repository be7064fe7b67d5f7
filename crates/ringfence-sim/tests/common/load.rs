//! The closed-loop reference load of the DRAM tests.
//!
//! Four requestors each keep `outstanding` reads of one line in flight in
//! their own GiB; each issues at most one a clock, served in an order that
//! rotates with the clock. A requestor sees its data in the clock in which it
//! is complete and reads again in the next.

use ringfence_scenario::platform::{AddressMap, Dram, DramController, DramTiming};
use ringfence_sim::machine::dram::address::Decoder;
use ringfence_sim::machine::dram::channel::Channel;
use ringfence_sim::random::SplitMix64;

pub const LINE_BYTES: u32 = 64;
const LINES_PER_REGION: u64 = (1 << 30) / LINE_BYTES as u64;

/// DDR4-2400 8 Gb x8, one rank, 17-17-17.
pub fn ddr4_2400() -> Dram {
    Dram {
        name: "DDR4-2400".into(),
        channels: 1,
        ranks: 1,
        bank_groups: 4,
        banks_per_group: 4,
        row_bytes: 8192,
        rows: 65536,
        burst_bytes: 64,
        address_map: AddressMap::ColumnGroupBankRow,
        timing: DramTiming {
            clock_ps: 833,
            cl: 17,
            cwl: 12,
            burst: 4,
            rcd: 17,
            rp: 17,
            ras: 39,
            rrd_s: 4,
            rrd_l: 6,
            faw: 26,
            ccd_s: 4,
            ccd_l: 6,
            rtp: 9,
            wr: 18,
            wtr_s: 3,
            wtr_l: 9,
            turnaround: 2,
            rfc: 433,
            refi: 9364,
        },
        controller: DramController {
            read_queue: 32,
            write_queue: 32,
            write_high: 26,
            write_low: 6,
            link_ps: 0,
        },
    }
}

/// Order of a requestor's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    Sequential,
    Random,
}

/// Result of a load.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub cycles: u64,
    pub mean_latency: f64,
}

struct Requestor {
    first_line: u64,
    pattern: Pattern,
    position: u64,
    random: SplitMix64,
    outstanding: u32,
}

impl Requestor {
    fn next_line(&mut self) -> u64 {
        let line = match self.pattern {
            Pattern::Sequential => self.position % LINES_PER_REGION,
            Pattern::Random => self.random.next_u64() % LINES_PER_REGION,
        };
        self.position += 1;
        self.first_line + line
    }
}

/// Runs `counted` reads after `warm_up` and returns the clocks that they took.
pub fn closed_loop(
    dram: &Dram,
    pattern: Pattern,
    outstanding: u32,
    warm_up: u64,
    counted: u64,
) -> Measured {
    let decoder = Decoder::new(dram, LINE_BYTES).unwrap();
    let mut channel = Channel::new(dram, LINE_BYTES).unwrap();
    let mut requestors: Vec<Requestor> = (0..4)
        .map(|r| Requestor {
            first_line: r * LINES_PER_REGION,
            pattern,
            position: 0,
            random: SplitMix64::new(12345 + 7919 * r),
            outstanding: 0,
        })
        .collect();
    // (clock, requestor, issued at), in order of time because all reads take the same time from their command.
    let mut done = std::collections::VecDeque::new();
    let mut issued_at = [0u64; 4096];
    let mut free_ids: Vec<u32> = (0..1024).collect();
    let (mut completed, mut started, mut latency) = (0u64, 0u64, 0u64);
    let mut clock = 0u64;
    loop {
        while let Some(&(at, id)) = done.front() {
            if at > clock {
                break;
            }
            done.pop_front();
            let id: u32 = id;
            requestors[(id % 4) as usize].outstanding -= 1;
            completed += 1;
            if completed == warm_up {
                (started, latency) = (clock, 0);
            }
            latency += at - issued_at[id as usize];
            if completed == warm_up + counted {
                return Measured {
                    cycles: clock - started,
                    mean_latency: latency as f64 / counted as f64,
                };
            }
            free_ids.push(id / 4);
        }
        // A completion is seen at the end of its clock.
        let mut next = u64::MAX;
        for k in 0..4u64 {
            let r = ((k + clock) % 4) as usize;
            if requestors[r].outstanding < outstanding && channel.has_room_for_read() {
                let line = requestors[r].next_line();
                let id = free_ids.pop().unwrap() * 4 + r as u32;
                issued_at[id as usize] = clock;
                requestors[r].outstanding += 1;
                if let Some(forwarded) = channel.read(clock, decoder.place(line), line, id) {
                    done.push_back((forwarded.at, forwarded.id));
                }
                if requestors[r].outstanding < outstanding {
                    next = clock + 1;
                }
            }
        }
        while channel.next_event() <= clock {
            if let Some(read) = channel.step(&mut ()) {
                done.push_back((read.at + 1, read.id));
            }
        }
        if let Some(&(at, _)) = done.front() {
            next = next.min(at);
        }
        clock = next.min(channel.next_event());
    }
}
