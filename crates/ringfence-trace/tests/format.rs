//! The format: what is written is what is read, and damage is always noticed.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_trace::{
    ADDRESS_LIMIT, Access, Error, Kind, Metadata, PAGE_BYTES, Reader, Statistics, Writer, read_all,
};

/// The accesses of a job and the instructions after the last one.
type JobContent = (Vec<Access>, u64);

fn metadata() -> Metadata {
    Metadata {
        program: "susan".into(),
        arguments: vec!["--jobs".into(), "2".into()],
        isa: "x86_64".into(),
        compilers: vec!["rustc version 1.95.0".into()],
        program_sha256: "00".repeat(32),
        recorder: "valgrind-3.19.0 lackey".into(),
        address_granularity_bytes: 1,
        marked_jobs: true,
        instruction_lines: false,
    }
}

fn access() -> impl Strategy<Value = Access> {
    let page = prop_oneof![0..20u64, 0..ADDRESS_LIMIT / PAGE_BYTES];
    let kind = prop_oneof![Just(Kind::Load), Just(Kind::Store), Just(Kind::Modify)];
    (page, 0..PAGE_BYTES, 1u8.., any::<u32>(), kind).prop_map(
        |(page, offset, size, instructions_before, kind)| Access {
            address: page * PAGE_BYTES + offset.min(PAGE_BYTES - u64::from(size)),
            instructions_before,
            size,
            kind,
        },
    )
}

fn write(jobs: &[JobContent]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &metadata()).unwrap();
    for (accesses, instructions_after) in jobs {
        for access in accesses {
            writer.access(*access).unwrap();
        }
        writer.end_job(*instructions_after).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<Vec<JobContent>, Error> {
    let mut reader = Reader::new(bytes)?;
    assert_eq!(reader.metadata(), &metadata());
    let mut jobs = Vec::new();
    while let Some(mut job) = reader.next_job()? {
        assert_eq!(job.number(), jobs.len() as u64);
        let accesses = job.by_ref().collect::<Result<Vec<_>, _>>()?;
        jobs.push((accesses, job.instructions_after().unwrap()));
    }
    assert!(reader.next_job()?.is_none());
    Ok(jobs)
}

fn count_jobs(bytes: &[u8]) -> Result<u64, Error> {
    Reader::new(bytes)?.count_jobs()
}

fn line_access(address: u64) -> Access {
    Access {
        address,
        instructions_before: 2,
        size: 8,
        kind: Kind::Load,
    }
}

proptest! {
    #[test]
    fn round_trip(jobs in vec((vec(access(), 0..200), any::<u64>()), 0..5)) {
        let bytes = write(&jobs);
        let lengths: Vec<u64> = jobs.iter().map(|(accesses, _)| accesses.len() as u64).collect();
        prop_assert_eq!(count_jobs(&bytes).unwrap(), lengths.len() as u64);
        prop_assert_eq!(read_all(&bytes).unwrap(), lengths);
        prop_assert_eq!(read(&bytes).unwrap(), jobs);
    }

    #[test]
    fn truncation_is_noticed_at_every_byte(jobs in vec((vec(access(), 0..20), any::<u64>()), 0..4)) {
        let bytes = write(&jobs);
        for length in 0..bytes.len() {
            prop_assert!(count_jobs(&bytes[..length]).is_err(), "{}", length);
            let error = read_all(&bytes[..length]).unwrap_err();
            if length >= 8 {
                prop_assert!(error.to_string().contains("truncated"), "{}: {}", length, error);
            }
        }
    }

    #[test]
    fn flipped_bits_are_noticed(
        jobs in vec((vec(access(), 0..50), any::<u64>()), 0..4),
        bits in vec(any::<prop::sample::Index>(), 100),
    ) {
        let bytes = write(&jobs);
        for bit in bits {
            let bit = bit.index(bytes.len() * 8);
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(read_all(&flipped).is_err(), "bit {}", bit);
            prop_assert!(count_jobs(&flipped).is_err(), "bit {}", bit);
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes: Vec<u8>) {
        prop_assert!(read_all(&bytes).is_err());
    }

    #[test]
    fn statistics_agree_with_a_plain_count(accesses in vec(access(), 0..200)) {
        let bytes = write(&[(accesses.clone(), 7)]);
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        let mut job = reader.next_job().unwrap().unwrap();
        let statistics = Statistics::of_job(&mut job).unwrap();

        let touched: Vec<u64> = accesses
            .iter()
            .flat_map(|a| a.address / 64..=(a.address + u64::from(a.size) - 1) / 64)
            .collect();
        let distinct: std::collections::BTreeSet<_> = touched.iter().collect();
        let between: u64 = accesses.iter().map(|a| u64::from(a.instructions_before)).sum();
        prop_assert_eq!(statistics.accesses(), accesses.len() as u64);
        prop_assert_eq!(statistics.line_touches, touched.len() as u64);
        prop_assert_eq!(statistics.distinct_lines(), distinct.len() as u64);
        prop_assert_eq!(statistics.instructions(), between + 7 + accesses.len() as u64);

        let mut twice = statistics.clone();
        twice.merge(&statistics);
        prop_assert_eq!(twice.distinct_lines(), statistics.distinct_lines());
        prop_assert_eq!(twice.accesses(), 2 * statistics.accesses());
    }
}

#[test]
fn a_job_longer_than_a_block_keeps_its_order() {
    let accesses: Vec<_> = (0..600_000u64)
        .map(|i| line_access(i * 4160 % (1 << 24) / 8 * 8))
        .collect();
    let jobs = vec![(accesses.clone(), 1), (accesses, 2)];
    let bytes = write(&jobs);
    assert_eq!(read(&bytes).unwrap(), jobs);
}

#[test]
fn a_job_may_be_left_early() {
    let job = ((0..300_000).map(|i| line_access(i * 8)).collect(), 0);
    let bytes = write(&[job.clone(), job]);
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    let mut first = reader.next_job().unwrap().unwrap();
    assert_eq!(first.next_access().unwrap(), Some(line_access(0)));
    let second = reader.next_job().unwrap().unwrap();
    assert_eq!(second.number(), 1);
    assert!(reader.next_job().unwrap().is_none());
}

#[test]
fn damage_names_the_job() {
    let job = (vec![line_access(64); 10], 0);
    let mut bytes = write(&[job.clone(), job]);
    // The last byte of the last job comes before the end block: 9 bytes of header, 8 of payload.
    let last_of_job = bytes.len() - 18;
    bytes[last_of_job] ^= 1;
    let message = read_all(&bytes).unwrap_err().to_string();
    assert!(message.contains("in job 1 at byte"), "{message}");
    assert!(message.contains("checksum"), "{message}");
}

#[test]
fn other_files_and_versions_are_told_apart() {
    let mut bytes = write(&[]);
    bytes[8] = 9;
    assert!(matches!(
        read_all(&bytes),
        Err(Error::Version {
            found: 9,
            expected: 1
        })
    ));
    assert!(matches!(read_all(b"\x7fELF"), Err(Error::NotATrace)));
    let mut bytes = write(&[]);
    bytes.push(0);
    let message = read_all(&bytes).unwrap_err().to_string();
    assert!(message.contains("after the end"), "{message}");
}

#[test]
fn accesses_that_break_the_rules_are_refused() {
    let mut writer = Writer::new(Vec::new(), &metadata()).unwrap();
    let good = line_access(64);
    for bad in [
        Access { size: 0, ..good },
        Access {
            address: ADDRESS_LIMIT,
            ..good
        },
        Access {
            address: PAGE_BYTES - 4,
            ..good
        },
    ] {
        assert!(matches!(writer.access(bad), Err(Error::Access(_))));
    }
    writer.access(good).unwrap();
    assert!(matches!(writer.finish(), Err(Error::UnfinishedJob(0))));
}
