//! The SLC mode of partitions of MLC: which pages are used, what a torn program destroys with it and without it.

use ffslab_flash::{Chip, Geometry, Pairing, Rules, Timing, Torn};
use ffslab_mtd::{Driver, Mtd, MtdError, Nand, NandPartition, SlcModeError};
use ffslab_sim::{Sim, SimConfig};

const PAGE: usize = 2048;
const PAGES: u32 = 16;
const GEOMETRY: Geometry = Geometry { page_bytes: PAGE as u32, oob_bytes: 64, pages_per_block: PAGES, blocks: 8 };

fn partition(pairing: Option<Pairing>) -> NandPartition {
    let timing = Timing { read_ns: 50_000, program_ns: 800_000, erase_ns: 2_000_000, bus_ps_per_byte: 25_000 };
    let rules = Rules { partial_programs_max: 1, in_order: true };
    let mut chip = Chip::new(Sim::new(SimConfig::default()), GEOMETRY, timing, rules).unwrap();
    chip.set_pairing(pairing).unwrap();
    NandPartition::new(&Nand::new(chip, Driver::default()).unwrap(), 2, 4).unwrap()
}

fn distance_3() -> Option<Pairing> {
    Some(Pairing::distance_3(PAGES).unwrap())
}

fn page(number: u8) -> Vec<u8> {
    (0..PAGE).map(|at| (at as u8).wrapping_mul(31) ^ number).collect()
}

/// Pages 0, 1, 3, 5 ... of a block are the lower ones.
#[test]
fn an_erase_block_holds_its_lower_pages() {
    let slc = partition(distance_3()).in_slc_mode().unwrap();
    let mtd = Mtd::from(slc.clone());
    assert_eq!((mtd.pages_per_block(), mtd.erase_block_bytes(), mtd.blocks()), (8, 8 * PAGE as u32, 4));
    assert_eq!(mtd.size_bytes(), 4 * 8 * PAGE as u64);
    assert_eq!(mtd.capabilities().partial_program_bytes, PAGE as u32, "no page is programmed twice");
    let written: Vec<u8> = (0..10).flat_map(page).collect();
    mtd.write(8 * PAGE as u64, &written).unwrap();
    let places: Vec<u32> =
        slc.with_chip(|chip| (0..8 * PAGES).filter(|&page| chip.peek_data(page).is_some()).collect());
    assert_eq!(places, [48, 49, 51, 53, 55, 57, 59, 61, 64, 65]);
    let mut found = vec![0; written.len()];
    mtd.read(8 * PAGE as u64, &mut found).unwrap();
    assert_eq!(found, written);
    let mut part = vec![0; PAGE];
    mtd.read(8 * PAGE as u64 + 7 * PAGE as u64 + 100, &mut part).unwrap();
    assert_eq!(part, written[7 * PAGE + 100..8 * PAGE + 100], "across the border of a block");
    mtd.erase(8 * PAGE as u64).unwrap();
    mtd.read(8 * PAGE as u64, &mut found).unwrap();
    assert!(found[..8 * PAGE].iter().all(|&byte| byte == 0xFF) && found[8 * PAGE..] == written[8 * PAGE..]);
    let beside = mtd.beside(6..8, mtd.sim().clone()).unwrap().unwrap();
    assert_eq!(beside.pages_per_block(), 8, "partitions of the machine are in the same mode");
}

/// What `nanddump` sees of the partition, and `nandwrite` puts there.
#[test]
fn an_image_holds_the_used_pages() {
    let mtd = Mtd::from(partition(distance_3()).in_slc_mode().unwrap());
    let image: Vec<u8> = (0..19).flat_map(page).collect();
    let nand = mtd.nand().unwrap();
    nand.load_image("image", &mut &image[..], image.len() as u64, false).unwrap();
    let saved = mtd.image(false).unwrap();
    assert_eq!(saved.len() as u64, mtd.size_bytes());
    assert!(saved[..image.len()] == image && saved[image.len()..].iter().all(|&byte| byte == 0xFF));
    assert_eq!(mtd.image(true).unwrap().len(), 4 * 8 * (PAGE + 64));
}

/// Whether the first three pages survive a cut in the program of each of the later ones.
fn survivors(mtd: &Mtd, seed: u64) -> Vec<bool> {
    let pages = mtd.pages_per_block();
    (3..pages)
        .map(|torn| {
            mtd.restart();
            mtd.erase(0).unwrap();
            for number in 0..torn {
                mtd.write(u64::from(number) * PAGE as u64, &page(number as u8)).unwrap();
            }
            mtd.cut_power_after(1, Torn::Partial { seed });
            assert_eq!(mtd.write(u64::from(torn) * PAGE as u64, &page(torn as u8)), Err(MtdError::PowerCut));
            mtd.restart();
            let mut found = vec![0; PAGE];
            (0..torn).all(|number| {
                mtd.read(u64::from(number) * PAGE as u64, &mut found).is_ok() && found == page(number as u8)
            })
        })
        .collect()
}

#[test]
fn no_torn_program_harms_an_earlier_page() {
    let plain = Mtd::from(partition(distance_3()));
    let slc = Mtd::from(partition(distance_3()).in_slc_mode().unwrap());
    for seed in 0..20 {
        assert!(survivors(&slc, seed).iter().all(|&survives| survives));
        // Of pages 3 to 15 the even ones, and the last, are upper ones.
        let upper = |page: u32| page.is_multiple_of(2) || page == PAGES - 1;
        assert_eq!(survivors(&plain, seed), (3..PAGES).map(|page| !upper(page)).collect::<Vec<_>>());
    }
}

#[test]
fn without_a_known_pairing_there_is_no_slc_mode() {
    assert_eq!(partition(None).in_slc_mode().err(), Some(SlcModeError::NoPairing));
    let three = Pairing::table(&std::array::from_fn::<u16, 16, _>(|page| page as u16 / 3), PAGES).unwrap();
    let error = partition(Some(three)).in_slc_mode().err().unwrap();
    assert_eq!(error, SlcModeError::Pages { used_pages: 6, pages_per_block: 16 });
}
