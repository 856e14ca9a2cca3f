//! Whatever the sequence of calls: a file behind the smallest page cache reads like an array of bytes.

use crate::support;

use ffslab_linux::{Advice, Calls, OpenFlags, ReadAheadRules, VfsConfig};
use proptest::prelude::*;
use support::{config, mounted, MemFs};

const FILE_BYTES_MAX: u64 = 60 * 4096;

#[derive(Clone, Debug)]
enum Op {
    Read { at: u64, bytes: usize },
    Write { at: u64, bytes: usize, value: u8 },
    Truncate { size: u64 },
    Advise(Advice),
    DropCaches,
    GcCaches { page: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let length = prop_oneof![1..200usize, 4090..4100usize, 1..100_000usize];
    let place = prop_oneof![0..FILE_BYTES_MAX, (0..60u64).prop_map(|page| page * 4096)];
    let advice = prop_oneof![
        Just(Advice::Normal),
        Just(Advice::Random),
        Just(Advice::Sequential),
        Just(Advice::WillNeed),
        Just(Advice::DontNeed)
    ];
    prop_oneof![
        6 => (place.clone(), length.clone()).prop_map(|(at, bytes)| Op::Read { at, bytes }),
        6 => (place.clone(), length, 1..=255u8).prop_map(|(at, bytes, value)| Op::Write { at, bytes, value }),
        1 => place.prop_map(|size| Op::Truncate { size }),
        1 => advice.prop_map(Op::Advise),
        1 => Just(Op::DropCaches),
        1 => (0..60u64).prop_map(|page| Op::GcCaches { page }),
    ]
}

fn check(rules: ReadAheadRules, read_ahead_bytes: u32, ops: &[Op]) -> Result<(), TestCaseError> {
    let small = VfsConfig { page_cache_bytes: 0, ..config(rules, read_ahead_bytes) };
    let (mut vfs, log) = mounted(small, MemFs::new);
    let fd = vfs.open(b"f", OpenFlags { create: true, ..OpenFlags::READ_WRITE }, 0o644).unwrap();
    let mut model: Vec<u8> = Vec::new();
    for op in ops {
        match *op {
            Op::Read { at, bytes } => {
                let mut buffer = vec![0xEE; bytes];
                let count = vfs.pread(fd, &mut buffer, at).unwrap();
                let start = (at as usize).min(model.len());
                let end = (start + bytes).min(model.len());
                prop_assert_eq!(&buffer[..count], &model[start..end]);
            }
            Op::Write { at, bytes, value } => {
                let data: Vec<u8> = (0..bytes).map(|i| value.wrapping_add(i as u8)).collect();
                prop_assert_eq!(vfs.pwrite(fd, &data, at), Ok(bytes));
                let end = at as usize + bytes;
                if model.len() < end {
                    model.resize(end, 0);
                }
                model[at as usize..end].copy_from_slice(&data);
            }
            Op::Truncate { size } => {
                vfs.ftruncate(fd, size).unwrap();
                model.resize(size as usize, 0);
            }
            Op::Advise(advice) => vfs.advise(fd, 5000, 90_000, advice).unwrap(),
            Op::DropCaches => vfs.drop_caches().unwrap(),
            Op::GcCaches { page } => log.borrow_mut().cache_during_write = Some(page),
        }
        prop_assert_eq!(vfs.fstat(fd).unwrap().size_bytes, model.len() as u64);
    }
    let mut buffer = vec![0; model.len() + 1];
    prop_assert_eq!(vfs.pread(fd, &mut buffer, 0), Ok(model.len()));
    buffer.pop();
    prop_assert!(buffer == model);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_linux_6_1(ops in prop::collection::vec(op(), 1..40), read_ahead in prop_oneof![Just(0), Just(128 << 10)]) {
        check(ReadAheadRules::V6_1, read_ahead, &ops)?;
    }

    #[test]
    fn on_linux_2_6(ops in prop::collection::vec(op(), 1..40), read_ahead in prop_oneof![Just(0), Just(128 << 10)]) {
        check(ReadAheadRules::V2_6, read_ahead, &ops)?;
    }
}
