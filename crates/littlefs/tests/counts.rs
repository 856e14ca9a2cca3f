//! What the flash does is what littlefs asked its device for, and each operation has a cause.

use crate::support;

use ffslab_bare::paths::PathProgram;
use ffslab_conformance::on::SPI_NAND;
use ffslab_littlefs::{causes, Config};
use ffslab_sim::OTHER;
use ffslab_system::{Calls, OpenFlags, System};
use support::{medium, program_on};

const WRITE: OpenFlags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };

/// Small and large files, made, changed in their middle, moved and removed, on a partition that fills up.
fn churn(program: &mut PathProgram, rounds: u64) {
    for directory in ["a", "b"] {
        program.mkdir(directory.as_bytes(), 0o755).unwrap();
    }
    for round in 0..rounds {
        let (path, other) = (format!("a/f{}", round % 17), format!("b/g{}", round % 5));
        let fd = program.open(path.as_bytes(), WRITE, 0o644).unwrap();
        let bytes = [40, 900, 30_000, 90_000][round as usize % 4];
        program.pwrite(fd, &vec![round as u8; bytes], (round * 37) % 1_000).unwrap();
        program.fsync(fd).unwrap();
        program.pwrite(fd, b"middle", 10).unwrap();
        program.close(fd).unwrap();
        let fd = program.open(path.as_bytes(), OpenFlags::READ, 0).unwrap();
        program.pread_discard(fd, 20_000, 5_000).unwrap();
        program.close(fd).unwrap();
        if round % 3 == 0 {
            program.rename(path.as_bytes(), other.as_bytes()).unwrap();
        }
        program.readdir_path(b"a").unwrap();
        program.statfs().unwrap();
    }
}

#[test]
fn the_flash_does_what_littlefs_asks_its_device_for() {
    let chip = medium(SPI_NAND, 96);
    let usual = Config::usual(chip.capabilities());
    assert_eq!((usual.read_size_bytes, usual.prog_size_bytes, usual.cache_size_bytes), (2_048, 2_048, 2_048));
    let mut program = program_on(chip.clone(), Some(Config { block_cycles: 4, lookahead_size_bytes: 4, ..usual }));
    program.mount(&[]).unwrap();
    let asked = |program: &mut PathProgram| -> Vec<(&'static str, i64)> { program.fs().unwrap().counters() };
    let (before, asked_before) = (chip.sim().total(), asked(&mut program));
    churn(&mut program, 60);
    let done = chip.sim().total() - before;
    let counts: Vec<i64> =
        asked(&mut program).iter().zip(asked_before).map(|((_, now), (_, before))| now - before).collect();
    let [reads, read_bytes, programs, programmed_bytes, erases] = counts[..] else { panic!("{counts:?}") };
    assert_eq!((reads, programs, erases), (done.page_reads as i64, done.page_programs as i64, done.erases as i64));
    assert_eq!((read_bytes, programmed_bytes), (reads * 2_048, programs * 2_048));
    assert!(reads > 5_000 && programs > 1_500 && erases > 100, "{counts:?}");
}

#[test]
fn each_operation_has_a_cause() {
    let chip = medium(SPI_NAND, 96);
    let usual = Config::usual(chip.capabilities());
    let mut program = program_on(chip.clone(), Some(Config { block_cycles: 4, lookahead_size_bytes: 4, ..usual }));
    program.mount(&[]).unwrap();
    churn(&mut program, 60);
    let of = |reason| chip.sim().causes().of_reason(reason);
    assert_eq!(of(&OTHER).page_reads + of(&OTHER).page_programs + of(&OTHER).erases, 0);
    let expected = [
        &causes::FILE_OPEN,
        &causes::BLOCK_LIST,
        &causes::FILE_BLOCK,
        &causes::TAIL_COPY,
        &causes::COMMIT,
        &causes::COMPACTION,
        &causes::ALLOCATION_SCAN,
        &causes::RELOCATION,
        &causes::SPACE_COUNT,
    ];
    for reason in expected {
        let counts = of(reason);
        assert!(counts.page_reads + counts.page_programs + counts.erases > 0, "{}", reason.name);
    }
}
