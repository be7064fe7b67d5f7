//! Devices of the DRAM tests.

use ringfence_scenario::platform::{AddressMap, Dram, DramController, DramTiming};

pub const LINE_BYTES: u32 = 64;

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
