//! Whatever happens: the space that JFFS2 counts is the space that there is.

use ffslab_fs::{Errno, FileSystem};
use ffslab_sim::NandWait;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{audit, content, Bench, BLOCK_BYTES};
use crate::{Compression, Endian, Options};

#[derive(Clone, Debug)]
enum Op {
    Create(u8),
    Write { file: u8, at: u64, bytes: usize },
    Truncate { file: u8, bytes: u64 },
    Rename { from: u8, to: u8 },
    Unlink(u8),
    Sync,
    Fsync(u8),
    Sleep { ms: u64 },
    DropInodes,
    Remount { orderly: bool },
}

const FILES: u8 = 5;

fn op() -> impl Strategy<Value = Op> {
    let file = 0..FILES;
    prop_oneof![
        3 => file.clone().prop_map(Op::Create),
        8 => (file.clone(), 0..60_000u64, 1..30_000usize).prop_map(|(file, at, bytes)| Op::Write { file, at, bytes }),
        1 => (file.clone(), 0..60_000u64).prop_map(|(file, bytes)| Op::Truncate { file, bytes }),
        1 => (file.clone(), file.clone()).prop_map(|(from, to)| Op::Rename { from, to }),
        2 => file.prop_map(Op::Unlink),
        1 => Just(Op::Sync),
        2 => (0..FILES).prop_map(Op::Fsync),
        1 => (1..20_000u64).prop_map(|ms| Op::Sleep { ms }),
        1 => Just(Op::DropInodes),
        1 => any::<bool>().prop_map(|orderly| Op::Remount { orderly }),
    ]
}

fn name(file: u8) -> String {
    format!("file {file}")
}

fn apply(bench: &mut Bench, op: &Op) -> Result<(), Errno> {
    match *op {
        Op::Create(file) => match bench.fs.lookup(1, name(file).as_bytes()) {
            Err(Errno::NoEnt) => bench.create(&name(file)).map(|_| ()),
            other => other.map(|_| ()),
        },
        Op::Write { file, at, bytes } => {
            let ino = bench.fs.lookup(1, name(file).as_bytes())?;
            bench.write(ino, at, &content(at as usize, bytes))
        }
        Op::Truncate { file, bytes } => {
            let ino = bench.fs.lookup(1, name(file).as_bytes())?;
            bench.truncate(ino, bytes)
        }
        Op::Rename { from, to } => {
            let replaced = bench.fs.lookup(1, name(to).as_bytes()).ok();
            bench.fs.rename(&mut bench.host, 1, name(from).as_bytes(), 1, name(to).as_bytes())?;
            match replaced {
                Some(ino) if from != to => bench.fs.evict(&mut bench.host, ino),
                _ => Ok(()),
            }
        }
        Op::Unlink(file) => bench.unlink(&name(file)),
        Op::Sync => bench.fs.sync(&mut bench.host),
        Op::Fsync(file) => {
            let ino = bench.fs.lookup(1, name(file).as_bytes())?;
            bench.fs.fsync(&mut bench.host, ino, false)
        }
        Op::Sleep { ms } => {
            bench.sleep_ms(ms);
            Ok(())
        }
        Op::DropInodes => {
            bench.fs.drop_inodes(&|_| false);
            Ok(())
        }
        Op::Remount { orderly } => {
            bench.remount(orderly);
            Ok(())
        }
    }
}

/// Names exist or not and the medium is full at times; any other error would be one of the file system.
fn is_expected(result: &Result<(), Errno>) -> bool {
    matches!(result, Ok(()) | Err(Errno::NoEnt | Errno::NoSpc))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_blocks_add_up_after_every_operation(ops in prop::collection::vec(op(), 1..120), summary: bool, sleeps: bool) {
        let wait = if sleeps { NandWait::Sleep } else { NandWait::Busy };
        let mut bench = Bench::waiting(wait, 12, Options { summary, ..Options::default() });
        for op in &ops {
            let result = apply(&mut bench, op);
            prop_assert!(is_expected(&result), "{op:?}: {result:?}");
            audit(&bench.fs.store);
        }
    }
}

/// The same operations for so long that every block is erased several times, in each variant of the format.
#[test]
fn all_blocks_add_up_while_the_garbage_collector_works() {
    let variants = [
        Options::default(),
        Options { summary: true, ..Options::default() },
        Options { compression: Compression::Zlib, endian: Endian::Big, ..Options::default() },
        Options::linux_2_6_37(),
    ];
    let waits = [NandWait::Busy, NandWait::Sleep];
    for (seed, (options, wait)) in
        variants.into_iter().flat_map(|options| waits.map(|wait| (options, wait))).enumerate()
    {
        let mut bench = Bench::waiting(wait, 16, options);
        let before = bench.sim.total().erases;
        let mut state = seed as u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..1500 {
            let file = draw(4) as u8;
            let at = draw(8) * 4096 + draw(2) * draw(4096);
            let op = match draw(20) {
                0 => Op::Unlink(file),
                1..=3 => Op::Create(file),
                4 => Op::Sleep { ms: 50 + draw(2000) },
                5 => Op::DropInodes,
                6 => Op::Fsync(file),
                _ => Op::Write { file, at, bytes: 1 + draw(9000) as usize },
            };
            let result = apply(&mut bench, &op);
            assert!(is_expected(&result), "{op:?}: {result:?}");
            audit(&bench.fs.store);
        }
        let erases = bench.sim.total().erases - before;
        assert!(erases > 2 * 16, "{options:?}: {erases} erases");
    }
}

#[test]
fn bad_blocks_are_counted_apart() {
    let mut bench = Bench::new(12, Options::default());
    bench.fs.unmount(&mut bench.host).unwrap();
    bench.mtd.mark_bad(u64::from(3 * BLOCK_BYTES)).unwrap();
    bench.fs = crate::Jffs2::mount(bench.mtd.clone(), bench.options).unwrap();
    audit(&bench.fs.store);
    assert_eq!(bench.fs.space().bad_bytes, BLOCK_BYTES);
    assert_eq!(bench.fs.space().free_blocks, 11);
}
