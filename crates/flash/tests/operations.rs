//! What each operation does to the cells, the clock and the counters, and what the chip refuses.

use crate::common;

use common::*;
use ffslab_flash::{Chip, FlashError, Geometry, GeometryError, Rules};
use ffslab_sim::{EventSink, Op, OpEvent, Sim, SimConfig};
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn an_erased_chip_reads_ones() {
    let mut chip = chip();
    assert_eq!(read(&mut chip, 0), (vec![0xFF; PAGE], vec![0xFF; OOB]));
    assert_eq!(chip.peek_data(0), None);
    assert_eq!(chip.allocated_bytes(), 0);
}

/// The times of the measured cases: read 130.6 us, program 305.6, OOB read 28.2, OOB program 203.2, erase 500; a read
/// of one 256-byte step with its 3 ECC bytes 25 + 259 x 0.05 = 37.95.
#[test]
fn times_and_counters() {
    let mut chip = chip();
    let sim = chip.sim().clone();
    let mut last_ns = 0;
    let mut took = || {
        let duration_ns = sim.now_ns() - last_ns;
        last_ns = sim.now_ns();
        duration_ns
    };
    chip.program_page(0, &pattern(1, PAGE), None).unwrap();
    assert_eq!(took(), 305_600);
    chip.program_page(0, &pattern(2, PAGE), None).unwrap();
    assert_eq!(took(), 305_600);
    chip.program_oob(1, &[0; OOB]).unwrap();
    assert_eq!(took(), 203_200);
    chip.read_page(0, &mut [0; PAGE], None).unwrap();
    assert_eq!(took(), 130_600);
    chip.read_part(0, 256, &mut [0; 256], 3).unwrap();
    assert_eq!(took(), 37_950);
    chip.read_oob(0, &mut [0; OOB]).unwrap();
    assert_eq!(took(), 28_200);
    chip.erase(0).unwrap();
    assert_eq!(took(), 500_000);

    let total = chip.sim().total();
    assert_eq!((total.page_programs, total.reprograms, total.oob_programs), (2, 1, 1));
    assert_eq!((total.page_reads, total.partial_page_reads, total.oob_reads, total.erases), (2, 1, 1, 1));
    assert_eq!((total.bus_in_bytes, total.bus_out_bytes), (2 * 2112 + 64, 2112 + 259 + 64));
    assert_eq!(total.busy_ns, chip.sim().now_ns());
}

/// An OOB program alone does not make the next page program a reprogram, and an erase ends the history.
#[test]
fn reprograms_are_programs_of_a_programmed_data_area() {
    let mut chip = chip();
    chip.program_oob(0, &[0; OOB]).unwrap();
    chip.program_page(0, &pattern(1, PAGE), None).unwrap();
    assert_eq!(chip.sim().total().reprograms, 0);
    chip.program_page(0, &[0xFF; PAGE], None).unwrap();
    assert_eq!(chip.sim().total().reprograms, 1);
    chip.erase(0).unwrap();
    chip.program_page(0, &pattern(1, PAGE), None).unwrap();
    assert_eq!(chip.sim().total().reprograms, 1);
}

#[test]
fn events_carry_addresses_and_the_time_at_which_they_began() {
    struct Log(Rc<RefCell<Vec<OpEvent>>>);
    impl EventSink for Log {
        fn flash_op(&mut self, event: &OpEvent) {
            self.0.borrow_mut().push(*event);
        }
    }
    let mut chip = chip();
    let log = Rc::new(RefCell::new(Vec::new()));
    chip.sim().set_sink(Some(Box::new(Log(log.clone()))));
    chip.erase(2).unwrap();
    chip.program_page(9, &pattern(1, PAGE), None).unwrap();
    let seen: Vec<_> = log.borrow().iter().map(|event| (event.op, event.address, event.at_ns, event.busy_ns)).collect();
    assert_eq!(seen, [(Op::Erase, 2, 0, 500_000), (Op::PageProgram, 9, 500_000, 305_600)]);
}

#[test]
fn programming_clears_bits_and_erasing_sets_them() {
    let mut chip = chip();
    let (a, b) = (pattern(1, PAGE), pattern(2, PAGE));
    chip.program_page(5, &a, Some(&[0xF0; OOB])).unwrap();
    chip.program_page(5, &b, Some(&[0x3C; OOB])).unwrap();
    let both: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a & b).collect();
    assert_eq!(read(&mut chip, 5), (both, vec![0x30; OOB]));
    let mut part = [0; 512];
    chip.read_part(5, 1024, &mut part, 6).unwrap();
    assert_eq!(part, chip.peek_data(5).unwrap()[1024..1536]);
    chip.erase(1).unwrap();
    assert_eq!(read(&mut chip, 5), (vec![0xFF; PAGE], vec![0xFF; OOB]));
}

#[test]
fn nop_limits_programs_of_the_data_area() {
    let mut chip = chip();
    for _ in 0..4 {
        chip.program_page(3, &[0xFF; PAGE], None).unwrap();
    }
    let before = (chip.sim().now_ns(), chip.sim().total());
    assert_eq!(chip.program_page(3, &[0xFF; PAGE], None), Err(FlashError::TooManyPrograms { page: 3, programs: 4 }));
    assert_eq!((chip.sim().now_ns(), chip.sim().total()), before, "what is refused costs nothing");
    chip.program_oob(3, &[0; OOB]).unwrap();
    chip.erase(0).unwrap();
    chip.program_page(3, &[0xFF; PAGE], None).unwrap();
}

#[test]
fn a_limit_of_255_is_no_limit() {
    let mut chip = chip_with(Rules { partial_programs_max: 255, in_order: false });
    for _ in 0..1000 {
        chip.program_page(0, &[0xFF; PAGE], None).unwrap();
    }
}

#[test]
fn pages_in_order_within_a_block() {
    let mut chip = chip_with(Rules { partial_programs_max: 4, in_order: true });
    let data = pattern(1, PAGE);
    chip.program_page(6, &data, None).unwrap();
    assert_eq!(chip.program_page(5, &data, None), Err(FlashError::OutOfOrder { page: 5, last: 6 }));
    chip.program_page(6, &data, None).unwrap();
    chip.program_page(7, &data, None).unwrap();
    chip.program_page(0, &data, None).unwrap();
    chip.program_oob(4, &[0; OOB]).unwrap();
    chip.erase(1).unwrap();
    chip.program_page(4, &data, None).unwrap();
}

#[test]
fn addresses_and_buffers_are_checked() {
    let mut chip = chip();
    let mut data = [0; PAGE];
    assert_eq!(
        chip.read_page(32, &mut data, None).unwrap_err().to_string(),
        "page 32 is outside the chip, which has 32 pages"
    );
    assert_eq!(chip.erase(8).unwrap_err().to_string(), "block 8 is outside the chip, which has 8 blocks");
    assert_eq!(
        chip.program_page(0, &data[..100], None),
        Err(FlashError::BufferSize { bytes: 100, wanted_bytes: 2048 })
    );
    assert_eq!(chip.read_oob(0, &mut data[..10]), Err(FlashError::BufferSize { bytes: 10, wanted_bytes: 64 }));
    assert_eq!(
        chip.read_part(0, 2000, &mut data[..49], 3),
        Err(FlashError::Column { column: 2000, end: 2049, page_bytes: 2048 })
    );
    assert_eq!(chip.sim().total().operations(), 0);
}

#[test]
fn impossible_chips_are_refused() {
    let make = |geometry: Geometry, rules: Rules| {
        Chip::new(Sim::new(SimConfig::default()), geometry, timing(), rules).err().map(|error| error.to_string())
    };
    let rules = Rules { partial_programs_max: 4, in_order: false };
    let good = geometry();
    assert_eq!(make(good, rules), None);
    assert_eq!(
        make(Geometry { page_bytes: 2000, ..good }, rules).unwrap(),
        "page_B = 2000: a page has 512 to 16384 bytes, a power of two"
    );
    assert!(make(Geometry { oob_bytes: 0, ..good }, rules).unwrap().starts_with("oob_B = 0"));
    assert!(make(Geometry { pages_per_block: 48, ..good }, rules).unwrap().starts_with("pages_per_block = 48"));
    assert!(make(Geometry { blocks: 0, ..good }, rules).unwrap().starts_with("blocks = 0"));
    assert_eq!(
        Geometry { blocks: u32::MAX, ..good }.check(),
        Err(GeometryError::Blocks { blocks: u32::MAX, blocks_max: 1 << 22, pages_per_block: 4 })
    );
    assert!(make(good, Rules { partial_programs_max: 0, in_order: false }).is_some());
}

#[test]
fn wear_and_reads_are_counted_per_block() {
    let mut chip = chip();
    for page in 4..7 {
        chip.program_page(page, &pattern(page, PAGE), None).unwrap();
        read(&mut chip, page);
    }
    chip.read_oob(7, &mut [0; OOB]).unwrap();
    assert_eq!((chip.programmed_pages(0), chip.programmed_pages(1)), (0, 3));
    assert_eq!(chip.read_disturb(1), (4, 4));
    chip.erase(1).unwrap();
    chip.erase(1).unwrap();
    read(&mut chip, 4);
    assert_eq!(chip.erase_counts(), [0, 2, 0, 0, 0, 0, 0, 0]);
    assert_eq!((chip.programmed_pages(1), chip.read_disturb(1)), (0, (1, 4)));
}

/// Memory follows the programmed pages: a page that is only marked in its OOB area owns no data slot, and erased pages
/// give their memory back to the next ones.
#[test]
fn memory_follows_what_is_programmed() {
    let sim = Sim::new(SimConfig::default());
    let big = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 4096 };
    let mut chip = Chip::new(sim, big, timing(), Rules { partial_programs_max: 4, in_order: false }).unwrap();
    for block in 0..4096 {
        chip.program_oob(block * 64, &[0; OOB]).unwrap();
    }
    assert!(chip.allocated_bytes() < 1 << 20, "{}", chip.allocated_bytes());
    let data = pattern(1, PAGE);
    let mut peak_bytes = 0;
    for round in 0..20 {
        for page in 0..10 * 64 {
            chip.program_page(round * 640 + page, &data, None).unwrap();
        }
        for block in 0..10 {
            chip.erase(round * 10 + block).unwrap();
        }
        peak_bytes = peak_bytes.max(chip.allocated_bytes());
    }
    assert!(peak_bytes < 640 * 2048 * 12 / 10 + (1 << 20), "{peak_bytes}");
}

#[test]
fn snapshots_restore_content_and_wear() {
    let mut chip = chip();
    for page in 0..6 {
        chip.program_page(page, &pattern(page, PAGE), Some(&pattern(page + 50, OOB))).unwrap();
    }
    chip.erase(7).unwrap();
    let image = chip.snapshot();
    let version = chip.contents_version();
    chip.erase(0).unwrap();
    chip.program_page(0, &pattern(77, PAGE), None).unwrap();
    for page in 8..32 {
        chip.program_page(page, &pattern(page, PAGE), None).unwrap();
    }
    chip.restore(&image).unwrap();
    assert_ne!(chip.contents_version(), version);
    for page in 0..6 {
        assert_eq!(read(&mut chip, page), (pattern(page, PAGE), pattern(page + 50, OOB)));
    }
    assert_eq!(chip.peek_data(8), None);
    assert_eq!(chip.erase_counts(), [0, 0, 0, 0, 0, 0, 0, 1]);
    for _ in 0..3 {
        chip.program_page(0, &[0xFF; PAGE], None).unwrap();
    }
    assert!(chip.program_page(0, &[0xFF; PAGE], None).is_err(), "program counts come back too");

    let other = Geometry { blocks: 4, ..geometry() };
    let rules = Rules { partial_programs_max: 4, in_order: false };
    let mut other = Chip::new(chip.sim().clone(), other, timing(), rules).unwrap();
    assert!(other.restore(&image).unwrap_err().to_string().starts_with("the snapshot is of another chip"));
}
