//! The seam below file systems: what media of several kinds answer to the same calls.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ffslab_flash::{Chip, Geometry, NorFlash, Rules, Timing, Torn, Traffic};
use ffslab_mtd::spi_nand::{Bus, Encoding, Layout, ReadCommand, SpiNand, Waiting, Wiring};
use ffslab_mtd::{ram, Capabilities, Corrected, Driver, Medium, MediumImage, Mtd, MtdError, RestoreError};
use ffslab_sim::{Sim, SimConfig};

const BLOCK_BYTES: u32 = 1024;

/// A medium that is not part of the crate: magnetic memory, which takes any byte at any time and is "erased" by writing.
struct Mram {
    sim: Sim,
    bytes: RefCell<Vec<u8>>,
    changes: Cell<u64>,
    /// Changes up to and including the one that the power is cut before; 0: the power is off.
    changes_left: Cell<u64>,
}

impl Mram {
    fn change(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        let mut bytes = self.bytes.borrow_mut();
        let place = bytes.get_mut(at as usize..at as usize + data.len()).ok_or(MtdError::OutOfRange)?;
        self.changes_left.set(self.changes_left.get().saturating_sub(1));
        if self.changes_left.get() == 0 {
            return Err(MtdError::PowerCut);
        }
        self.changes.set(self.changes.get() + 1);
        place.copy_from_slice(data);
        Ok(())
    }
}

impl Medium for Mram {
    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            blocks: self.bytes.borrow().len() as u32 / BLOCK_BYTES,
            chip_blocks: self.bytes.borrow().len() as u32 / BLOCK_BYTES,
            erase_block_bytes: BLOCK_BYTES,
            program_bytes: 1,
            partial_program_bytes: 1,
            write_buffer_bytes: 1,
            oob_bytes: 0,
            oob_free_bytes: 0,
            clears_bits_again: true,
            has_bad_blocks: false,
            torn_erase_may_keep_start: false,
            in_memory: false,
        }
    }

    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        if !self.is_on() {
            return Err(MtdError::PowerCut);
        }
        self.look(at, data).map(|()| Corrected::Clean)
    }

    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.change(at, data)
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        self.change(at, &[0xFF; BLOCK_BYTES as usize])
    }

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        let bytes = self.bytes.borrow();
        data.copy_from_slice(bytes.get(at as usize..at as usize + data.len()).ok_or(MtdError::OutOfRange)?);
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        Traffic { programs: self.changes.get(), ..Traffic::default() }
    }

    fn cut_power_after(&self, operations: u64, _torn: Torn) {
        self.changes_left.set(operations);
    }

    fn is_on(&self) -> bool {
        self.changes_left.get() > 0
    }

    fn restart(&self) {
        self.changes_left.set(u64::MAX);
    }

    fn modifying_operations(&self) -> u64 {
        self.changes.get()
    }

    fn snapshot(&self) -> MediumImage {
        MediumImage::Bytes(self.bytes.borrow().clone())
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        let MediumImage::Bytes(held) = held else { return Err(RestoreError::OfChip) };
        self.bytes.borrow_mut().copy_from_slice(held);
        Ok(())
    }
}

fn mram(sim: &Sim) -> Mtd {
    let bytes = RefCell::new(vec![0xFF; 8 * BLOCK_BYTES as usize]);
    let (changes, changes_left) = (Cell::new(0), Cell::new(u64::MAX));
    let medium: Rc<dyn Medium> = Rc::new(Mram { sim: sim.clone(), bytes, changes, changes_left });
    medium.into()
}

fn nor(sim: &Sim) -> Mtd {
    NorFlash::new(sim.clone(), BLOCK_BYTES, 8).into()
}

fn ram_flash(sim: &Sim) -> Mtd {
    ram::flash(sim, 8 * 256 * 1024).unwrap()
}

fn spi_nand(sim: &Sim) -> Mtd {
    let bus = Bus {
        clock_hz: 50_000_000,
        transfer_overhead_ns: 0,
        copy_ps_per_byte: 0,
        transfer_max_bytes: u32::MAX,
        waiting: Waiting::Sleeps,
    };
    let wiring = Wiring {
        layout: Layout::WinbondW25m02gv,
        encoding: Encoding::Generic,
        strength_bits: 1,
        bus,
        read: ReadCommand::over(2),
        program_lines: 1,
        dies: 1,
        select_die_bytes: 2,
        continuous_reads: false,
    };
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 4, blocks: 8 };
    let cells = Timing { read_ns: 1, program_ns: 1, erase_ns: 1, bus_ps_per_byte: 0 };
    let rules = Rules { partial_programs_max: 4, in_order: true };
    let chip = Chip::new(sim.clone(), geometry, wiring.timing(cells), rules).unwrap();
    let driver = Driver { ecc: wiring.ecc(), ..Driver::default() };
    SpiNand::of_chip(chip, wiring, driver, 0..8).unwrap()
}

fn media() -> Vec<(&'static str, Mtd)> {
    let sim = Sim::new(SimConfig::default());
    // A chip counts what goes over its bus in the machine's counters, so each stands in a machine of its own.
    let of_spi = spi_nand(&Sim::new(SimConfig::default()));
    vec![("NOR", nor(&sim)), ("RAM flash", ram_flash(&sim)), ("MRAM", mram(&sim)), ("SPI NAND", of_spi)]
}

fn peek(mtd: &Mtd, at: u64, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    mtd.look(at, &mut data).unwrap();
    data
}

#[test]
fn all_media_read_what_was_programmed_and_erase_it() {
    for (name, mtd) in media() {
        let (block, unit) = (u64::from(mtd.erase_block_bytes()), mtd.page_bytes().max(16) as usize);
        let data: Vec<u8> = (0..unit).map(|i| i as u8).collect();
        mtd.write(block, &data).unwrap();
        let mut found = vec![0; unit];
        assert_eq!(mtd.read(block, &mut found), Ok(Corrected::Clean), "{name}");
        assert_eq!(found, data, "{name}");
        assert_eq!(mtd.look_at_written_pages(block), Ok(unit as u32 / mtd.page_bytes()), "{name}");
        assert_eq!(mtd.reads_erased(block, &mut vec![0; unit]), Ok(false), "{name}");
        mtd.erase(block).unwrap();
        assert_eq!(mtd.reads_erased(block, &mut vec![0; unit]), Ok(true), "{name}");
        assert_eq!(mtd.look_at_written_pages(block), Ok(0), "{name}");
        assert!(mtd.traffic().programs > 0 && mtd.modifying_operations() == 2, "{name}");
    }
}

#[test]
fn beyond_the_end_nothing_is_read_programmed_or_good() {
    for (name, mtd) in media() {
        let end = mtd.size_bytes();
        let unit = mtd.page_bytes() as usize;
        assert_eq!(mtd.read(end, &mut [0; 4]), Err(MtdError::OutOfRange), "{name}");
        assert_eq!(mtd.look(end - 2, &mut [0; 4]), Err(MtdError::OutOfRange), "{name}");
        assert_eq!(mtd.write(end, &vec![0; unit]), Err(MtdError::OutOfRange), "{name}");
        assert!(mtd.is_bad(end) && !mtd.is_bad(end - 1), "{name}");
    }
}

/// What a medium lacks is refused, and what it says that it can do is what it does.
#[test]
fn capabilities_say_what_the_calls_do() {
    for (name, mtd) in media() {
        let can = *mtd.capabilities();
        let oob = mtd.read_oob_free(0, &mut [0; 8]);
        assert_eq!(oob.is_ok(), can.oob_free_bytes > 0, "{name}");
        assert_eq!(oob == Err(MtdError::NotSupported), can.oob_bytes == 0, "{name}");
        assert_eq!(mtd.mark_bad(0).is_ok(), can.has_bad_blocks, "{name}");
        assert_eq!(mtd.is_bad(0), can.has_bad_blocks, "{name}");
        let block = u64::from(can.erase_block_bytes);
        let mut data = vec![0xFF; can.program_bytes as usize];
        data[0] = 0xF0;
        mtd.write(block, &data).unwrap();
        assert_eq!(can.program_bytes == 1, mtd.write(block + 3, &[1]).is_ok(), "{name}");
        if can.clears_bits_again {
            mtd.write(block, &[0x30]).unwrap();
            assert_eq!(peek(&mtd, block, 1), [0x30], "{name}");
        }
        assert_eq!(mtd.image(true).is_ok(), can.oob_bytes > 0, "{name}");
        assert_eq!(mtd.image(false).unwrap().len() as u64, mtd.size_bytes(), "{name}");
    }
}

#[test]
fn a_power_cut_stops_everything_until_the_restart() {
    for (name, mtd) in media() {
        let unit = vec![0; mtd.page_bytes() as usize];
        mtd.cut_power_after(2, Torn::Nothing);
        let size = unit.len() as u64;
        mtd.write(0, &unit).unwrap();
        assert!(mtd.is_on(), "{name}");
        assert_eq!(mtd.write(size, &unit), Err(MtdError::PowerCut), "{name}");
        assert!(!mtd.is_on(), "{name}");
        assert_eq!(mtd.read(0, &mut [0; 4]), Err(MtdError::PowerCut), "{name}");
        assert_eq!((peek(&mtd, 0, 1), peek(&mtd, size, 1)), (vec![0], vec![0xFF]), "{name}");
        mtd.restart();
        mtd.write(size, &unit).unwrap();
    }
}

/// Of a program that is under way NOR makes the first bytes; what is torn of an erase is not what was there.
#[test]
fn nor_tears_programs_and_erases() {
    let mtd = nor(&Sim::new(SimConfig::default()));
    mtd.cut_power_after(1, Torn::Partial { seed: 1 });
    assert_eq!(mtd.write(0, &[0; 8]), Err(MtdError::PowerCut));
    let found = peek(&mtd, 0, 8);
    let programmed = found.iter().take_while(|&&byte| byte == 0).count();
    assert!(programmed < 8 && found[(programmed + 1).min(7)..].iter().all(|&byte| byte == 0xFF), "{found:?}");
    mtd.restart();
    mtd.write(600, &[0x55; 8]).unwrap();
    mtd.cut_power_after(1, Torn::Partial { seed: 1 });
    assert_eq!(mtd.erase(0), Err(MtdError::PowerCut));
    assert_ne!(peek(&mtd, 0, 1024), [vec![0; 8], vec![0xFF; 592], vec![0x55; 8], vec![0xFF; 416]].concat());
    mtd.restart();
    mtd.cut_power_after(1, Torn::Complete);
    assert_eq!(mtd.erase(0), Err(MtdError::PowerCut));
    assert_eq!(peek(&mtd, 600, 1), [0xFF]);
    mtd.restart();
    assert_eq!(mtd.erase(1), Err(MtdError::Unaligned));
    assert_eq!(mtd.erase_counts()[..2], [2, 0]);
}

#[test]
fn a_snapshot_goes_to_a_medium_of_its_kind_alone() {
    let (all, others) = (media(), media());
    for (i, (name, mtd)) in all.iter().enumerate() {
        let unit = vec![7; mtd.page_bytes() as usize];
        mtd.write(0, &unit).unwrap();
        let held = mtd.snapshot();
        others[i].1.restore(&held).unwrap();
        assert_eq!(peek(&others[i].1, 0, 1), [7], "{name}");
        let chip = matches!(held, MediumImage::Chip(_));
        for (_, other) in others.iter().filter(|(_, other)| other.nand().is_some() != chip) {
            assert!(other.restore(&held).is_err(), "{name}");
        }
    }
    let larger: Mtd = NorFlash::new(Sim::new(SimConfig::default()), BLOCK_BYTES, 9).into();
    assert!(larger.restore(&all[0].1.snapshot()).is_err());
}
