//! Blocks that fail in the five ways of littlefs's own tests (`bd/lfs_emubd.h`): nothing is lost, as long as it can be noticed.

use crate::support;

use ffslab_conformance::on::SPI_NOR;
use ffslab_flash::{Torn, Traffic};
use ffslab_littlefs::Config;
use ffslab_mtd::{Capabilities, Corrected, Medium, MediumImage, Mtd, MtdError, RestoreError};
use ffslab_sim::Sim;
use ffslab_system::{Calls, OpenFlags, System};
use std::rc::Rc;
use support::{medium, program_on};

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    ProgramFails,
    EraseFails,
    ReadFails,
    ProgramDoesNothing,
    EraseDoesNothing,
}

const ALL: [How; 5] =
    [How::ProgramFails, How::EraseFails, How::ReadFails, How::ProgramDoesNothing, How::EraseDoesNothing];

/// A medium of which some blocks fail.
struct Failing {
    inner: Mtd,
    how: How,
    is_bad: fn(u64) -> bool,
}

impl Failing {
    fn fails(&self, at: u64, how: How) -> bool {
        self.how == how && (self.is_bad)(at / u64::from(self.inner.erase_block_bytes()))
    }
}

impl Medium for Failing {
    fn sim(&self) -> &Sim {
        self.inner.sim()
    }

    fn capabilities(&self) -> Capabilities {
        *self.inner.capabilities()
    }

    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        match self.fails(at, How::ReadFails) {
            true => Err(MtdError::Uncorrectable),
            false => self.inner.read(at, data),
        }
    }

    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        match (self.fails(at, How::ProgramFails), self.fails(at, How::ProgramDoesNothing)) {
            (true, _) => Err(MtdError::ProgramFailed),
            (_, true) => Ok(()),
            _ => self.inner.write(at, data),
        }
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        match (self.fails(at, How::EraseFails), self.fails(at, How::EraseDoesNothing)) {
            (true, _) => Err(MtdError::EraseFailed),
            (_, true) => Ok(()),
            _ => self.inner.erase(at),
        }
    }

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        self.inner.look(at, data)
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.inner.cut_power_after(operations, torn);
    }

    fn is_on(&self) -> bool {
        self.inner.is_on()
    }

    fn restart(&self) {
        self.inner.restart();
    }

    fn modifying_operations(&self) -> u64 {
        self.inner.modifying_operations()
    }

    fn snapshot(&self) -> MediumImage {
        self.inner.snapshot()
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        self.inner.restore(held)
    }
}

/// Files are written, changed and read back after a mount.
fn files_survive(how: How, is_bad: fn(u64) -> bool) {
    let inner = medium(SPI_NOR, 96);
    // What a block holds that cannot be erased is not what is to be written.
    for block in 0..96 {
        let at = block * u64::from(inner.erase_block_bytes());
        if how == How::EraseDoesNothing && is_bad(block) {
            inner.write(at, &vec![0; inner.erase_block_bytes() as usize]).unwrap();
        }
    }
    let config = Config { block_cycles: 3, ..Config::usual(inner.capabilities()) };
    let failing: Rc<dyn Medium> = Rc::new(Failing { inner, how, is_bad });
    let mut program = program_on(Mtd::from(failing), Some(config));
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
    for how in ALL {
        files_survive(how, |block| block >= 2 && block % 2 == 1);
    }
}

#[test]
fn nothing_is_lost_with_bad_blocks_side_by_side() {
    for how in ALL {
        files_survive(how, |block| (2..40).contains(&block));
    }
}
