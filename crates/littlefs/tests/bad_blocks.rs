//! Blocks that fail in the five ways of littlefs's own tests (`bd/lfs_emubd.h`): nothing is lost, as long as it can be noticed.

use crate::support;

use ffslab_conformance::failing::{failing, Fails};
use ffslab_conformance::on::SPI_NOR;
use ffslab_littlefs::Config;
use ffslab_system::{Calls, OpenFlags, System};
use support::{medium, program_on};

/// Files are written, changed and read back after a mount.
fn files_survive(how: Fails, is_bad: fn(u64) -> bool) {
    let inner = medium(SPI_NOR, 96);
    // What a block holds that cannot be erased is not what is to be written.
    for block in 0..96 {
        let at = block * u64::from(inner.erase_block_bytes());
        if how == Fails::EraseSilently && is_bad(block) {
            inner.write(at, &vec![0; inner.erase_block_bytes() as usize]).unwrap();
        }
    }
    let config = Config { block_cycles: 3, ..Config::usual(inner.capabilities()) };
    let mut program = program_on(failing(inner, how, is_bad), Some(config));
    program.mount(&[]).unwrap();
    program.mkdir(b"d", 0o755).unwrap();
    let data = |file: usize, round: usize| vec![(file * 16 + round) as u8; 500 + file * 9_000];
    for round in 0..6 {
        for file in 0..6 {
            let flags = OpenFlags { create: true, truncate: true, ..OpenFlags::READ_WRITE };
            let fd = program.open(format!("d/{file}").as_bytes(), flags, 0o644).unwrap();
            let written = program.pwrite(fd, &data(file, round), 0);
            assert_eq!(written, Ok(data(file, round).len()), "{how:?}");
            program.close(fd).unwrap_or_else(|error| panic!("{how:?}: {error}"));
        }
        program.umount().unwrap();
        program.mount(&[]).unwrap();
        for file in 0..6 {
            let fd = program.open(format!("d/{file}").as_bytes(), OpenFlags::READ, 0).unwrap();
            let mut found = vec![0; 100_000];
            let read = program.pread(fd, &mut found, 0).unwrap();
            assert!(found[..read] == data(file, round), "{how:?}, file {file}, round {round}");
            program.close(fd).unwrap();
        }
    }
}

#[test]
fn nothing_is_lost_with_every_other_block_bad() {
    for how in Fails::ALL {
        files_survive(how, |block| block >= 2 && block % 2 == 1);
    }
}

#[test]
fn nothing_is_lost_with_bad_blocks_side_by_side() {
    for how in Fails::ALL {
        files_survive(how, |block| (2..40).contains(&block));
    }
}
