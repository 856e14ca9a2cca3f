//! Sectors hold what was written to them last, also after power cuts.

use super::wear_levelling::WearLevelling;
use super::Translation;
use crate::device::Below;
use ffslab_conformance::on::{Kind, SPI_NAND, SPI_NOR};
use ffslab_flash::Torn;
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::{Sim, SimConfig};

fn medium(kind: Kind, blocks: u32) -> Mtd {
    let sim = Sim::new(SimConfig::default());
    ffslab_fs::causes::register(&sim);
    (kind.medium)(&sim, kind.with_blocks(blocks)).unwrap_or_else(|failure| panic!("{failure}"))
}

fn content(sector: u64, version: u64, bytes: u32) -> Vec<u8> {
    (0..u64::from(bytes)).map(|at| (at * 7 + sector * 31 + version * 101 + at / 251) as u8).collect()
}

/// The sectors that a workload writes one after the other: some often, all of them sometimes.
fn sectors(count: u64) -> impl Iterator<Item = u64> {
    (0u64..).map(move |number| if number % 3 == 0 { number * 5 % count } else { number % 2 })
}

/// Writes until the power is cut: the versions that the sectors hold, and the sector whose write was cut.
fn write(below: &dyn Below, writes: u64, versions: &mut [u64]) -> Option<usize> {
    let bytes = below.program_bytes();
    for (version, sector) in (1..=writes).zip(sectors(versions.len() as u64)) {
        match below.program(sector * u64::from(bytes), &content(sector, version, bytes)) {
            Ok(()) => versions[sector as usize] = version,
            Err(MtdError::PowerCut) => return Some(sector as usize),
            Err(error) => panic!("write {version} of sector {sector}: {error}"),
        }
    }
    None
}

/// The sectors that do not hold their version; 0 stands for nothing written.
fn wrong(below: &dyn Below, versions: &[u64]) -> Vec<usize> {
    let bytes = below.program_bytes();
    let mut held = vec![0; bytes as usize];
    let is_wrong = |(sector, version): &(usize, &u64)| {
        below.read(*sector as u64 * u64::from(bytes), &mut held).unwrap_or_else(|error| panic!("{error}"));
        **version > 0 && held != content(*sector as u64, **version, bytes)
    };
    versions.iter().enumerate().filter(is_wrong).map(|(sector, _)| sector).collect()
}

#[test]
fn sectors_are_what_was_written_while_contents_move_all_the_way_round() {
    let chip = medium(SPI_NOR, 20);
    let mut versions = vec![0; 16];
    for round in 0..4 {
        let levelling = WearLevelling::open(chip.clone(), 2).expect("it begins, or goes on");
        assert_eq!(levelling.size_bytes(), 16 * u64::from(levelling.program_bytes()));
        assert_eq!(wrong(&levelling, &versions), [0; 0], "round {round}");
        assert_eq!(write(&levelling, 200, &mut versions), None);
        assert_eq!(wrong(&levelling, &versions), [0; 0], "round {round}");
        levelling.close().expect("the power is on");
    }
    // Every block of the contents was the dummy several times, although two sectors were written most.
    let counts = chip.erase_counts();
    let (least, most) =
        counts[..17].iter().fold((u32::MAX, 0), |(least, most), &count| (least.min(count), most.max(count)));
    assert!(least > 20 && most < 8 * least, "{counts:?}");
}

#[test]
fn a_direct_sector_shares_its_erase_block_with_others() {
    for kind in [SPI_NOR, SPI_NAND] {
        let chip = medium(kind, 6);
        let sector_bytes = chip.capabilities().program_bytes.max(512);
        let below = Translation::Direct { sector_bytes }.open(&chip).expect("it has no state");
        let mut versions = vec![0; (chip.erase_block_bytes() / sector_bytes) as usize * 2];
        assert_eq!(write(&*below, 60, &mut versions), None);
        assert_eq!(wrong(&*below, &versions), [0; 0], "{}", kind.name);
        assert!(chip.erase_counts()[..2].iter().sum::<u32>() == 60, "an erase for each write");
    }
}

/// Cuts the power at programs and erases; how many sectors are wrong afterwards beside the one that was being written.
fn lost_by_cuts(torn: fn(u64) -> Torn) -> Vec<(u64, Vec<usize>)> {
    // The dummy goes round after five moves.
    const WRITES: u64 = 12;
    const CUTS: u64 = 60;
    let chip = medium(SPI_NOR, 8);
    drop(WearLevelling::open(chip.clone(), 1).expect("it begins"));
    let (start, before) = (chip.snapshot(), chip.modifying_operations());
    let levelling = WearLevelling::open(chip.clone(), 1).expect("it goes on");
    assert_eq!(write(&levelling, WRITES, &mut [0; 4]), None);
    let operations = chip.modifying_operations() - before;
    let mut lost = Vec::new();
    for k in (1..=operations).step_by((operations / CUTS) as usize | 1) {
        let chip = medium(SPI_NOR, 8);
        chip.restore(&start).expect("it is such a chip");
        let mut versions = vec![0; 4];
        let levelling = WearLevelling::open(chip.clone(), 1).expect("it goes on");
        chip.cut_power_after(k, torn(k));
        let cut = write(&levelling, WRITES, &mut versions).unwrap_or_else(|| panic!("no cut at {k} of {operations}"));
        chip.restart();
        versions[cut] = 0;
        let levelling = WearLevelling::open(chip.clone(), 1).expect("the power is on");
        let wrong = wrong(&levelling, &versions);
        if !wrong.is_empty() {
            lost.push((k, wrong));
        }
    }
    lost
}

#[test]
fn a_power_cut_takes_no_sector_but_the_one_that_is_written() {
    for torn in [|_| Torn::Nothing, |k| Torn::Partial { seed: k }, |_| Torn::Complete] {
        let lost = lost_by_cuts(torn);
        assert!(lost.is_empty(), "{lost:?}");
    }
}

/// `WL_Flash::init` copies records from the second state by the number of the first one, which was just erased: none is right. What the
/// memory holds is true until the power goes away again.
#[test]
fn a_cut_between_both_states_takes_everything_at_the_second_start_as_with_esp_idf() {
    let chip = medium(SPI_NOR, 8);
    let levelling = WearLevelling::open(chip.clone(), 1).expect("it begins");
    let mut versions = vec![0; 4];
    // With the next move the dummy has gone round all five blocks.
    assert_eq!(write(&levelling, 4, &mut versions), None);
    let (bytes, copies) = (levelling.program_bytes(), u64::from(levelling.program_bytes()) / 32);
    chip.cut_power_after(1 + copies + 2 + 1, Torn::Complete);
    levelling.program(0, &content(0, 9, bytes)).expect_err("the first state was erased, and not written");
    chip.restart();
    let wrong_after = |start: &str| {
        let levelling = WearLevelling::open(chip.clone(), 1).expect(start);
        wrong(&levelling, &versions)
    };
    assert_eq!(wrong_after("first"), [0; 0]);
    assert_ne!(wrong_after("second"), [0; 0]);
}

#[test]
fn nor_on_a_page_map_clears_bits_and_keeps_them_over_cuts() {
    let chip = medium(SPI_NAND, 12);
    let map = Translation::PageMap { logical_pages: 64 };
    let nor = map.as_nor(&chip, true, u32::MAX).expect("it has room");
    let can = *nor.capabilities();
    assert_eq!((can.blocks, can.erase_block_bytes, can.program_bytes), (32, 4096, 1));
    (0..32).for_each(|block| nor.erase(block * 4096).expect("it can be overwritten"));
    nor.write(4090, &[0xF0; 12]).expect("over the end of a block");
    nor.write(4092, &[0x3C; 2]).expect("bits are cleared once more");
    let before = chip.sim().total();
    nor.write(4092, &[0xFF; 2]).expect("nothing changes");
    assert_eq!((chip.sim().total() - before).page_programs, 0);
    let expected = [0xFF, 0xF0, 0xF0, 0x30, 0x30, 0xF0, 0xF0, 0xF0, 0xF0];
    let mut held = [0; 9];
    nor.read(4089, &mut held).expect("it was written");
    assert_eq!(held, expected);
    assert_eq!(nor.look(4089, &mut held), Ok(()));
    assert_eq!(held, expected);
    assert_eq!(nor.write(32 * 4096 - 1, &[0; 2]), Err(MtdError::OutOfRange));
    // A cut takes the write that it hits, and nothing beside it.
    for torn in [Torn::Nothing, Torn::Partial { seed: 1 }] {
        chip.cut_power_after(1, torn);
        let nor = map.as_nor(&chip, false, 20).expect("mounting programs nothing");
        assert_eq!(nor.write(4090, &[0; 4]), Err(MtdError::PowerCut));
        chip.restart();
        let nor = map.as_nor(&chip, false, 20).expect("the power is on");
        assert_eq!((nor.blocks(), nor.look(4089, &mut held)), (20, Err(MtdError::NotSupported)));
        nor.read(4089, &mut held).expect("it was written");
        assert_eq!(held, expected);
    }
}
