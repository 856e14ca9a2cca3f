//! Cache commands and copy-back below the layers, against closed formulas to the nanosecond. R, P, E: times of the array; M: a page
//! over the bus; C: from one register to the other; r: the record of a page over the bus.

use crate::support;

use ffslab_flash::{Faults, Geometry, Rules, Timing};
use ffslab_ftl::flash::OnMedium;
use ffslab_ftl::{BlockDevice, Disk, FtlConfig, FtlError, PageMap, Victim};
use ffslab_mtd::striped::{ChipCommands, Die, Stripes};
use ffslab_mtd::{Driver, Medium, Mtd, MtdError};
use ffslab_sim::{Sim, SimConfig};
use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg32;
use std::rc::Rc;
use support::{commands, Setup, LOGICAL_PAGES, PAGE_BYTES};

const R: u64 = 25_000;
const P: u64 = 200_000;
const E: u64 = 500_000;
const M: u64 = (2048 + 64) * 50;
const C: u64 = 3_000;
const RECORD: u64 = 24 * 50;

fn setup(name: &str, cache_commands: bool, copy_backs_max_count: u32) -> Setup {
    let mut setup = Setup {
        mapping: support::mapping(name),
        stripes: Some(Stripes::ONE),
        buffer_pages: 0,
        ..Setup::new(Victim::Greedy)
    };
    setup.config = FtlConfig { cache_commands, copy_backs_max_count, log_blocks: 3, ..setup.config };
    setup
}

fn made(setup: &Setup) -> (Disk, Sim) {
    let mtd = setup.medium(&Faults::default());
    (setup.format(&mtd).unwrap(), mtd.sim().clone())
}

/// Writes these pages with one request, until they are on flash.
fn write(device: &mut Disk, sim: &Sim, pages: std::ops::Range<u64>, byte: u8) -> u64 {
    let before_ns = sim.now_ns();
    let per_page = u64::from(PAGE_BYTES / support::SECTOR_BYTES);
    let bytes = vec![byte; ((pages.end - pages.start) * u64::from(PAGE_BYTES)) as usize];
    device.write(pages.start * per_page, &bytes).unwrap();
    device.flush().unwrap();
    sim.now_ns() - before_ns
}

fn read(device: &mut Disk, sim: &Sim, pages: std::ops::Range<u64>, byte: u8) -> u64 {
    let before_ns = sim.now_ns();
    let per_page = u64::from(PAGE_BYTES / support::SECTOR_BYTES);
    let mut bytes = vec![0; ((pages.end - pages.start) * u64::from(PAGE_BYTES)) as usize];
    device.read(pages.start * per_page, &mut bytes).unwrap();
    assert!(bytes.iter().all(|&found| found == byte));
    sim.now_ns() - before_ns
}

/// N pages of one block: each is sent while the one before is programmed.
fn row_written_ns(pages: u64) -> u64 {
    M + pages * C + (pages - 1) * P.max(M) + P
}

/// N pages of one block: each is read while the one before is sent away.
fn row_read_ns(pages: u64) -> u64 {
    R + pages * C + (pages - 1) * R.max(M) + M
}

#[test]
fn a_row_of_the_host_goes_through_the_cache_registers() {
    for name in ["page-map", "dftl", "block-map", "bast", "fast", "last", "open-segments"] {
        for (cache_commands, writes_ns, reads_ns) in [
            (false, 16 * (M + P), 16 * (R + M)),
            // A row ends with its block.
            (true, 2 * row_written_ns(8), 2 * row_read_ns(8)),
        ] {
            let mut setup = setup(name, cache_commands, 0);
            if name == "dftl" {
                // What the map costs beside is no part of a row: nothing is evicted here.
                setup.config.map_cache_entries_count = Some(200);
                setup.config.gc_free_blocks = 5;
                setup.config.logical_pages = LOGICAL_PAGES - 20;
            }
            let (mut device, sim) = made(&setup);
            assert_eq!(write(&mut device, &sim, 0..16, 7), writes_ns, "{}", setup.name());
            let expected_ns = match name {
                // Where the map is not all in RAM nobody knows what comes next.
                "dftl" => 16 * (R + M),
                _ => reads_ns,
            };
            assert_eq!(read(&mut device, &sim, 0..16, 7), expected_ns, "{}", setup.name());
        }
    }
}

/// Two dies on each of two channels: the bus is the bottleneck, and hides what happens between registers.
#[test]
fn rows_of_several_dies_overlap() {
    let mut setup = setup("page-map", true, 0);
    setup.stripes = Some(Stripes { channels: 2, dies_per_channel: 2, planes: 1 });
    let (mut device, sim) = made(&setup);
    // A block of eight pages has two of each die.
    let of_a_block = |last: u64| 2 * M + last + (2 * M).max(P + C);
    assert_eq!(write(&mut device, &sim, 0..8, 3), of_a_block(C + P));
    assert_eq!(read(&mut device, &sim, 0..8, 3), R + C + 4 * M);
}

/// A row that is interrupted is on flash when the other command begins, and the next one begins anew.
#[test]
fn another_command_ends_a_row() {
    let (mut device, sim) = made(&setup("page-map", true, 0));
    write(&mut device, &sim, 0..8, 1);
    let before_ns = sim.now_ns();
    let per_page = u64::from(PAGE_BYTES / support::SECTOR_BYTES);
    let page = vec![2; PAGE_BYTES as usize];
    device.write(0, &page).unwrap();
    device.write(per_page, &page).unwrap();
    let mut data = vec![0; PAGE_BYTES as usize];
    device.read(0, &mut data).unwrap();
    assert_eq!(sim.now_ns() - before_ns, row_written_ns(2) + R + M);
    device.write(2 * per_page, &page).unwrap();
    device.flush().unwrap();
    assert_eq!(sim.now_ns() - before_ns, row_written_ns(2) + R + M + row_written_ns(1));
    assert_eq!(data, page);
}

/// Page 7 of a block is written again behind page 0, so that the six pages between are copied; then the old block is erased.
#[test]
fn copies_of_a_merge_go_in_rows_or_stay_in_the_chip() {
    let by_controller = R + M + M + P;
    let in_chip = R + 2 * RECORD + P;
    for (cache_commands, copy_row_pages, copy_backs_max_count, expected_ns) in [
        (false, 8, 0, 6 * by_controller + (M + P) + E),
        (false, 8, 1, 6 * in_chip + (M + P) + E),
        (true, 8, 0, row_read_ns(6) + row_written_ns(7) + E),
        (true, 3, 0, row_read_ns(3) + row_written_ns(3) + row_read_ns(3) + row_written_ns(4) + E),
        // Copies in the chip are no part of a row; the last page is one of its own.
        (true, 8, 1, 6 * in_chip + row_written_ns(1) + E),
    ] {
        let mut setup = setup("block-map", cache_commands, copy_backs_max_count);
        setup.config.copy_row_pages = copy_row_pages;
        let (mut device, sim) = made(&setup);
        write(&mut device, &sim, 0..8, 5);
        write(&mut device, &sim, 0..1, 5);
        assert_eq!(write(&mut device, &sim, 7..8, 5), expected_ns, "{}", setup.name());
        read(&mut device, &sim, 0..8, 5);
        let done = device.ftl().statistics();
        assert_eq!((done.gc_pages, done.copied_back_pages), (6, (copy_backs_max_count > 0).then_some(6)));
    }
}

/// What was copied so often as the settings allow goes through the controller once, and is counted from there again.
#[test]
fn copies_in_a_row_have_a_limit() {
    for copy_backs_max_count in [1, 2, 3, 15] {
        let (mut device, sim) = made(&setup("block-map", false, copy_backs_max_count));
        write(&mut device, &sim, 0..8, 5);
        for copies in 1..=40u32 {
            let before = device.ftl().statistics().copied_back_pages;
            write(&mut device, &sim, 0..1, 5);
            let took_ns = write(&mut device, &sim, 7..8, 5);
            let in_chip = copies % (copy_backs_max_count + 1) != 0;
            let now = device.ftl().statistics().copied_back_pages;
            assert_eq!(
                now.unwrap() - before.unwrap(),
                if in_chip { 6 } else { 0 },
                "copy {copies} of {copy_backs_max_count}"
            );
            let rest_ns = (M + P) + E;
            match in_chip {
                true => assert_eq!(took_ns, 6 * (R + 2 * RECORD + P) + rest_ns),
                // The record says so: it is looked at before.
                false => assert_eq!(took_ns, 6 * (R + RECORD + R + M + M + P) + rest_ns),
            }
        }
        read(&mut device, &sim, 0..8, 5);
    }
}

/// Collection copies in the chip what stands on the die to which the next page goes; nearly all pages find one.
#[test]
fn collection_copies_inside_each_die() {
    for stripes in [Stripes::ONE, Stripes { channels: 2, dies_per_channel: 2, planes: 1 }] {
        for name in ["page-map", "dftl"] {
            let mut setup = setup(name, true, 3);
            setup.stripes = Some(stripes);
            setup.config.logical_pages = 110;
            if name == "dftl" {
                setup.config.map_cache_entries_count = Some(6);
                setup.config.gc_free_blocks = 5;
                setup.config.logical_pages = 90;
            }
            let (mut device, sim) = made(&setup);
            let pages = u64::from(setup.config.logical_pages);
            write(&mut device, &sim, 0..pages, 1);
            let mut random = Pcg32::seed_from_u64(4);
            for _ in 0..900 {
                let page = support::below(&mut random, pages);
                write(&mut device, &sim, page..page + 1, 1);
            }
            read(&mut device, &sim, 0..pages, 1);
            let done = *device.ftl().statistics();
            let copied = done.copied_back_pages.unwrap();
            assert!(
                copied * 2 > done.gc_pages - done.map_written_pages && copied < done.gc_pages,
                "{}: {done:?}",
                setup.name()
            );
        }
    }
}

fn chip(commands: ChipCommands, faults: &Faults) -> Mtd {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 8, blocks: 24 };
    let timing = Timing { read_ns: R, program_ns: P, erase_ns: E, bus_ps_per_byte: 50_000 };
    let rules = Rules { partial_programs_max: 1, in_order: true };
    let sim = Sim::new(SimConfig::default());
    let die = Die { geometry, timing, rules, commands };
    let made = Stripes::ONE.medium(&sim, die, &Driver::default(), faults).unwrap();
    Mtd::from(Rc::new(made) as Rc<dyn Medium>)
}

/// One bit flips in one of 1024 reads, and the ECC corrects one of 512 bytes. Copies in the chip gather flips until it cannot; through the
/// controller each copy begins without any.
#[test]
fn flips_gather_in_copies_that_no_ecc_has_seen() {
    let faults = Faults { bitflips: 1, seed: 5, ..Faults::default() };
    let (block_bytes, data) = (8 * u64::from(PAGE_BYTES), vec![0x3C; PAGE_BYTES as usize]);
    let copies_until_lost = |in_chip: bool| {
        let mtd = chip(commands::ALL, &faults);
        mtd.write_page_with_oob(0, &data, &[1; 24]).unwrap();
        let (mut from, mut to, mut was_corrected) = (0, block_bytes, false);
        for copy in 1..40_000u32 {
            mtd.erase(to).unwrap();
            let mut page = vec![0; PAGE_BYTES as usize];
            if in_chip {
                assert_eq!(mtd.copy_back(from, to, &mut [0; 24], &mut |_| true), Ok(true));
            } else {
                mtd.read_page_with_oob(from, &mut page, &mut [0; 24]).unwrap();
                mtd.write_page_with_oob(to, &page, &[1; 24]).unwrap();
            }
            (from, to) = (to, from);
            mtd.look(from, &mut page).unwrap();
            let holds_wrong_bits = page != data;
            match mtd.read_page_with_oob(from, &mut page, &mut [0; 24]) {
                Err(MtdError::Uncorrectable) => return (copy, was_corrected),
                Ok(_) => assert!(page == data, "copy {copy}"),
                Err(error) => panic!("{error}"),
            }
            assert!(in_chip || !holds_wrong_bits);
            was_corrected |= holds_wrong_bits;
        }
        (u32::MAX, was_corrected)
    };
    let (copies, was_corrected) = copies_until_lost(true);
    assert!(was_corrected && copies < 40_000, "{copies} copies");
    assert_eq!(copies_until_lost(false), (u32::MAX, false));
}

#[test]
fn chips_without_the_commands_and_slc_caches_are_refused() {
    let none = ChipCommands::default();
    let format = |commands, config| {
        PageMap::format(OnMedium::new(chip(commands, &Faults::default())).unwrap(), config)
            .err()
            .map(|error| error.to_string())
    };
    let (rows, copies) = (
        FtlConfig { cache_commands: true, ..FtlConfig::new(LOGICAL_PAGES) },
        FtlConfig { copy_backs_max_count: 2, ..FtlConfig::new(LOGICAL_PAGES) },
    );
    assert_eq!(
        format(none, rows.clone()).unwrap(),
        "cache_commands: the chip has no cache program or cache read, or not one that is known"
    );
    assert_eq!(format(none, copies.clone()).unwrap(), "copy_back: the chip has no copy-back, or not one that is known");
    assert_eq!(format(ChipCommands { cache_program: true, ..none }, rows.clone()), None);
    assert_eq!(format(ChipCommands { copy_back: true, ..none }, copies.clone()), None);
    for config in [rows, copies] {
        let flash = OnMedium::new(chip(commands::ALL, &Faults::default())).unwrap();
        let refused = (support::mapping("slc-cache").format)(flash, config).err();
        assert!(matches!(refused, Some(FtlError::NotWithCache { .. })), "{refused:?}");
    }
}

/// With neither key a chip behind the array takes what the same chip takes alone.
#[test]
fn without_the_keys_nothing_is_used() {
    let run = |stripes| {
        let setup = Setup { stripes, buffer_pages: 0, ..Setup::new(Victim::Greedy) };
        let (mut device, sim) = made(&setup);
        for step in 0..300u64 {
            write(&mut device, &sim, step * 7 % 70..step * 7 % 70 + 2, step as u8);
        }
        (sim.now_ns(), *device.ftl().statistics())
    };
    assert_eq!(run(None), run(Some(Stripes::ONE)));
}
