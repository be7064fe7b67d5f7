//! Accesses in few bytes.
//!
//! The payload of an access block is a zstd frame over four columns of varints,
//! each preceded by its length as a little-endian `u32`. Column by column, for
//! each access: `size << 2 | kind`; the instructions before it; its page; its
//! offset in the page. Programs go back and forth between few pages, so a page
//! is its position among the 16 most recently used ones of the block, or 16
//! plus its number; the offset is the difference (zigzag) to the last offset in
//! that page, 0 for a page just met. Equal columns side by side is what lets
//! zstd find the regularity of loops.

use crate::access::{ADDRESS_LIMIT, Access, Kind, PAGE_BYTES};
use crate::block::little_endian_u32;
use crate::varint;

/// Most accesses of one block.
pub const MAX_ACCESSES: usize = 1 << 18;

const COLUMNS: usize = 4;
/// Two bytes of size and kind, five of instructions, six of page, two of offset.
const MAX_ACCESS_BYTES: usize = 15;
const MAX_RAW_BYTES: usize = COLUMNS * 4 + MAX_ACCESSES * MAX_ACCESS_BYTES;
const RECENT_PAGES: usize = 16;
/// Beyond this level zstd gets much slower and hardly smaller on traces.
const ZSTD_LEVEL: i32 = 19;

/// Most recently used pages, latest first, with the last offset in each.
#[derive(Debug, Default)]
struct RecentPages(Vec<(u64, i64)>);

impl RecentPages {
    /// The position of `page`, if it is recent.
    fn position(&self, page: u64) -> Option<usize> {
        self.0.iter().position(|(recent, _)| *recent == page)
    }

    /// Makes the page at `position` the latest.
    fn refresh(&mut self, position: usize) -> &mut (u64, i64) {
        self.0[..=position].rotate_right(1);
        &mut self.0[0]
    }

    /// Makes a page that is not recent the latest.
    fn insert(&mut self, page: u64) -> &mut (u64, i64) {
        self.0.truncate(RECENT_PAGES - 1);
        self.0.insert(0, (page, 0));
        &mut self.0[0]
    }
}

/// Collects the accesses of one block.
#[derive(Debug, Default)]
pub struct Encoder {
    columns: [Vec<u8>; COLUMNS],
    accesses: usize,
    recent: RecentPages,
}

impl Encoder {
    /// Adds a valid access; at most [`MAX_ACCESSES`].
    pub fn push(&mut self, access: Access) {
        let page = access.address / PAGE_BYTES;
        let offset = (access.address % PAGE_BYTES) as i64;
        let (reference, (_, last_offset)) = match self.recent.position(page) {
            Some(position) => (position as u64, self.recent.refresh(position)),
            None => (RECENT_PAGES as u64 + page, self.recent.insert(page)),
        };
        let step = offset - *last_offset;
        *last_offset = offset;

        let kind = match access.kind {
            Kind::Load => 0,
            Kind::Store => 1,
            Kind::Modify => 2,
        };
        let [shapes, instructions, pages, offsets] = &mut self.columns;
        varint::put(shapes, u64::from(access.size) << 2 | kind);
        varint::put(instructions, u64::from(access.instructions_before));
        varint::put(pages, reference);
        varint::put(offsets, varint::zigzag(step));
        self.accesses += 1;
    }

    /// Accesses since the last [`Encoder::take_payload`].
    pub fn len(&self) -> usize {
        self.accesses
    }

    /// The payload of a block with what was collected; starts the next block.
    pub fn take_payload(&mut self) -> std::io::Result<Vec<u8>> {
        let mut raw = Vec::new();
        for column in &mut self.columns {
            raw.extend_from_slice(&(column.len() as u32).to_le_bytes());
            raw.append(column);
        }
        self.accesses = 0;
        self.recent.0.clear();
        zstd::bulk::compress(&raw, ZSTD_LEVEL)
    }
}

/// Gives the accesses of one block.
#[derive(Debug, Default)]
pub struct Decoder {
    raw: Vec<u8>,
    /// Start and end in `raw` of what is left of each column.
    columns: [(usize, usize); COLUMNS],
    recent: RecentPages,
}

impl Decoder {
    /// Reads the payload of a block.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(payload: &[u8]) -> Result<Self, &'static str> {
        let raw = zstd::bulk::decompress(payload, MAX_RAW_BYTES)
            .map_err(|_| "accesses that zstd cannot decompress")?;
        let mut columns = [(0, 0); COLUMNS];
        let mut position = 0;
        for column in &mut columns {
            let length = raw.get(position..position + 4).ok_or("a cut column")?;
            let start = position + 4;
            position = start + little_endian_u32(length) as usize;
            *column = (start, position);
        }
        if position != raw.len() {
            return Err("columns of the wrong length");
        }
        Ok(Self {
            raw,
            columns,
            recent: RecentPages::default(),
        })
    }

    /// The next access, `None` after the last one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn next(&mut self) -> Result<Option<Access>, &'static str> {
        if self.columns.iter().all(|(start, end)| start == end) {
            return Ok(None);
        }
        let [shape, instructions, reference, step] = self.take_values().ok_or("a cut access")?;
        let kind = match shape & 3 {
            0 => Kind::Load,
            1 => Kind::Store,
            2 => Kind::Modify,
            _ => return Err("an access of unknown kind"),
        };
        let access = Access {
            address: self.address(reference, varint::unzigzag(step))?,
            instructions_before: u32::try_from(instructions)
                .map_err(|_| "more than 2^32 instructions between two accesses")?,
            size: u8::try_from(shape >> 2).map_err(|_| "an access of more than 255 bytes")?,
            kind,
        };
        match access.defect() {
            Some(defect) => Err(defect),
            None => Ok(Some(access)),
        }
    }

    /// One value from each column.
    fn take_values(&mut self) -> Option<[u64; COLUMNS]> {
        let mut values = [0; COLUMNS];
        for ((start, end), value) in self.columns.iter_mut().zip(&mut values) {
            let mut rest = &self.raw[*start..*end];
            *value = varint::take(&mut rest)?;
            *start = *end - rest.len();
        }
        Some(values)
    }

    fn address(&mut self, reference: u64, step: i64) -> Result<u64, &'static str> {
        let (page, last_offset) = if reference < RECENT_PAGES as u64 {
            let position = reference as usize;
            if position >= self.recent.0.len() {
                return Err("a reference to a page that was not met");
            }
            self.recent.refresh(position)
        } else {
            let page = reference - RECENT_PAGES as u64;
            if page >= ADDRESS_LIMIT / PAGE_BYTES {
                return Err("an address of more than 48 bits");
            }
            self.recent.insert(page)
        };
        let offset = last_offset.checked_add(step).ok_or("an offset overflow")?;
        if !(0..PAGE_BYTES as i64).contains(&offset) {
            return Err("an offset outside its page");
        }
        *last_offset = offset;
        Ok(*page * PAGE_BYTES + offset as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn payload(columns: &[Vec<u8>; COLUMNS]) -> Vec<u8> {
        let mut raw = Vec::new();
        for column in columns {
            raw.extend_from_slice(&(column.len() as u32).to_le_bytes());
            raw.extend_from_slice(column);
        }
        zstd::bulk::compress(&raw, 1).unwrap()
    }

    proptest! {
        #[test]
        fn hostile_columns_give_valid_accesses_or_an_error(
            columns: [Vec<u8>; COLUMNS],
        ) {
            let mut decoder = Decoder::new(&payload(&columns)).unwrap();
            while let Ok(Some(access)) = decoder.next() {
                prop_assert_eq!(access.defect(), None);
            }
        }

        #[test]
        fn hostile_payloads_give_an_error(raw: Vec<u8>) {
            prop_assert!(Decoder::new(&raw).is_err());
            let compressed = zstd::bulk::compress(&raw, 1).unwrap();
            if let Ok(mut decoder) = Decoder::new(&compressed) {
                while let Ok(Some(_)) = decoder.next() {}
            }
        }
    }

    #[test]
    fn a_frame_that_decompresses_to_too_much_is_refused() {
        let bomb = zstd::bulk::compress(&vec![0; MAX_RAW_BYTES + 1], 1).unwrap();
        assert!(Decoder::new(&bomb).is_err());
    }

    #[test]
    fn each_column_may_be_cut() {
        let whole = [vec![4], vec![0], vec![16], vec![0]];
        assert!(Decoder::new(&payload(&whole)).unwrap().next().is_ok());
        for cut in 0..COLUMNS {
            let mut columns = whole.clone();
            columns[cut].clear();
            assert!(Decoder::new(&payload(&columns)).unwrap().next().is_err());
        }
    }
}
