//! Programs and erases that fail, factory bad blocks, bit flips, pages that cannot be read.

use crate::support;

use ffslab_flash::{Faults, Weak};
use ffslab_ubi::causes;
use ffslab_ubi::{BadReserve, PebCounts, Ubi, UbiError, Volume};
use support::{content, make_all, Rig};

const BLOCKS: u32 = 24;
const PAGES_PER_BLOCK: u32 = 8;
const LEB: usize = 7 * 512;

/// A small partition with a reserve of two blocks and a volume of all that is available.
fn rig() -> (Rig, Ubi, Volume) {
    let mut rig = Rig::small(BLOCKS);
    rig.options.bad_reserve = BadReserve::PercentOfPartition(1);
    let (ubi, volume) = rig.formatted();
    assert_eq!((ubi.bad_reserve_pebs(), volume.lebs()), (2, BLOCKS - 6));
    (rig, ubi, volume)
}

fn set_faults(rig: &Rig, faults: &Faults) {
    rig.nand.with_chip(|chip| chip.set_faults(faults).unwrap());
}

fn weak(numbers: impl IntoIterator<Item = u32>) -> Vec<Weak> {
    numbers.into_iter().map(|number| Weak { number, good_operations: 0 }).collect()
}

fn read(volume: &Volume, leb: u32) -> Vec<u8> {
    let mut data = vec![0; LEB];
    volume.read(leb, 0, &mut data).unwrap();
    data
}

/// The block that holds a LEB, found by its data: the block whose second page begins with `head`.
fn block_with(rig: &Rig, head: &[u8]) -> u32 {
    let holds = |block: u32| {
        rig.nand.with_chip(|chip| {
            chip.peek_data(block * PAGES_PER_BLOCK + 1).is_some_and(|page| page.starts_with(&head[..64]))
        })
    };
    (0..BLOCKS).find(|&block| holds(block)).unwrap()
}

fn check_accounts(ubi: &Ubi) -> PebCounts {
    let counts = ubi.peb_counts();
    let PebCounts { free_pebs, used_pebs, pending_pebs, bad_pebs, kept_pebs, .. } = counts;
    assert_eq!(free_pebs + used_pebs + pending_pebs + bad_pebs + kept_pebs, BLOCKS);
    assert_eq!(ubi.available_lebs() + ubi.reserved_lebs(), BLOCKS - bad_pebs);
    counts
}

#[test]
fn a_write_that_fails_in_a_mapped_leb_moves_it_to_another_block() {
    let (rig, ubi, volume) = rig();
    let data = content(3, 1, LEB);
    volume.write(3, 0, &data[..1024]).unwrap();
    let block = block_with(&rig, &data);
    // The third page of the LEB.
    set_faults(&rig, &Faults { weakpages: weak([block * PAGES_PER_BLOCK + 3]), ..Faults::default() });
    volume.write(3, 1024, &data[1024..]).unwrap();
    assert_eq!(read(&volume, 3), data);
    assert!(rig.sim.counts(&causes::CALLER, &causes::RECOVERY).page_programs > 0);
    // The background thread tests the block: it fails again, and is marked bad.
    rig.sleep(&ubi, 1);
    assert_eq!((check_accounts(&ubi).bad_pebs, ubi.bad_reserve_pebs()), (1, 1));
    assert!(rig.mtd.is_bad(u64::from(block) * u64::from(rig.mtd.erase_block_bytes())));
    let (ubi, volume) = rig.reattach(&ubi);
    assert_eq!(read(&volume, 3), data);
    // 1 % of 23 blocks is 0, so two blocks are to be kept; but only one is left.
    assert_eq!((check_accounts(&ubi).bad_pebs, ubi.bad_reserve_pebs()), (1, 1));
}

/// `ubi_dump_flash`, since 3.5: two pages that a write did not get to flash, and all of the block in its test.
#[test]
fn what_could_not_be_written_is_read_for_the_log() {
    let reads = |reads_failed_writes| {
        let (mut rig, ubi, _) = rig();
        rig.options.reads_failed_writes = reads_failed_writes;
        let (ubi, volume) = rig.reattach(&ubi);
        let data = content(3, 1, LEB);
        volume.write(3, 0, &data[..1024]).unwrap();
        let block = block_with(&rig, &data);
        set_faults(&rig, &Faults { weakpages: weak([block * PAGES_PER_BLOCK + 3]), ..Faults::default() });
        let write = rig.counts(|| volume.write(3, 1024, &data[1024..2048]).unwrap());
        let test = rig.counts(|| rig.sleep(&ubi, 1));
        (write.page_reads, test.page_reads)
    };
    let (of_old, of_new) = (reads(false), reads(true));
    assert_eq!((of_new.0 - of_old.0, of_new.1 - of_old.1), (2, u64::from(PAGES_PER_BLOCK)));
}

#[test]
fn a_block_that_passes_the_torture_test_is_used_again() {
    let (rig, ubi, volume) = rig();
    let data = content(3, 1, LEB);
    volume.write(3, 0, &data[..1024]).unwrap();
    let block = block_with(&rig, &data);
    let erases = ubi.erase_counters()[block as usize].unwrap();
    set_faults(&rig, &Faults { weakpages: weak([block * PAGES_PER_BLOCK + 3]), ..Faults::default() });
    volume.write(3, 1024, &data[1024..]).unwrap();
    set_faults(&rig, &Faults::default());
    let test = rig.counts(|| rig.sleep(&ubi, 1));
    // Three patterns: each an erase, all pages written, and read twice; then the usual erase and header.
    assert_eq!(test.erases, 4);
    assert_eq!(test.page_programs, 3 * u64::from(PAGES_PER_BLOCK) + 1);
    assert_eq!(test.page_reads, 3 * 2 * u64::from(PAGES_PER_BLOCK));
    assert_eq!(ubi.erase_counters()[block as usize], Some(erases + 4));
    assert_eq!(check_accounts(&ubi).bad_pebs, 0);
    assert_eq!(read(&volume, 3), data);
}

#[test]
fn a_header_that_cannot_be_written_goes_to_another_block() {
    let (rig, ubi, volume) = rig();
    // The second program of a first page is the volume identifier header; nearly all of them fail.
    let first_pages = (0..BLOCKS).filter(|block| block % 4 != 0).map(|block| block * PAGES_PER_BLOCK);
    set_faults(&rig, &Faults { weakpages: weak(first_pages), ..Faults::default() });
    let data = content(1, 1, LEB);
    let mut written = Vec::new();
    for leb in 0..3 {
        match volume.write(leb, 0, &data) {
            Ok(()) => written.push(leb),
            // Four blocks one after the other failed.
            Err(error) => {
                assert_eq!(error, UbiError::Io);
                assert!(ubi.is_read_only());
                break;
            }
        }
    }
    for &leb in &written {
        assert_eq!(read(&volume, leb), data);
    }
    check_accounts(&ubi);
}

#[test]
fn blocks_whose_erase_fails_are_marked_bad_until_the_reserve_is_gone() {
    let (rig, ubi, volume) = rig();
    for leb in 0..volume.lebs() {
        volume.write(leb, 0, &content(leb, 1, 512)).unwrap();
    }
    let weak_blocks: Vec<u32> = (0..4).map(|leb| block_with(&rig, &content(leb, 1, 512))).collect();
    set_faults(&rig, &Faults { weakblocks: weak(weak_blocks), ..Faults::default() });
    for (leb, reserve) in [(0, 1), (1, 0)] {
        volume.erase(leb).unwrap();
        assert_eq!((check_accounts(&ubi).bad_pebs, ubi.bad_reserve_pebs()), (leb + 1, reserve));
        assert!(!ubi.is_read_only());
    }
    assert_eq!(volume.erase(2), Err(UbiError::NoSpace));
    assert!(ubi.is_read_only());
    assert_eq!(volume.write(2, 0, &[0; 512]), Err(UbiError::ReadOnly));
    assert_eq!(volume.unmap(5), Err(UbiError::ReadOnly));
    assert_eq!(&read(&volume, 5)[..512], content(5, 1, 512));
}

#[test]
fn a_failed_erase_is_tried_again() {
    let (rig, ubi, volume) = rig();
    volume.write(0, 0, &content(0, 1, 512)).unwrap();
    let block = block_with(&rig, &content(0, 1, 512));
    set_faults(&rig, &Faults { weakblocks: weak([block]), ..Faults::default() });
    let erase = rig.counts(|| volume.erase(0).unwrap());
    // Four tries; then marking the block bad erases it once more.
    assert_eq!((erase.erases, erase.oob_programs), (4 + 1, 1));
    assert_eq!(check_accounts(&ubi).bad_pebs, 1);
}

#[test]
fn factory_bad_blocks_are_left_alone_and_count_against_the_reserve() {
    let mut rig = Rig::small(BLOCKS);
    rig.options.chip_blocks = Some(1024);
    rig.options.bad_reserve = BadReserve::Per1024OfChip(5);
    set_faults(&rig, &Faults { badblocks: vec![0, 1, 9], ..Faults::default() });
    let (ubi, volume) = rig.formatted();
    assert_eq!((check_accounts(&ubi).bad_pebs, ubi.bad_reserve_pebs()), (3, 2));
    assert_eq!(volume.lebs(), BLOCKS - 3 - 4 - 2);
    for leb in 0..volume.lebs() {
        volume.write(leb, 0, &content(leb, 1, LEB)).unwrap();
    }
    let (_, volume) = rig.reattach(&ubi);
    for leb in 0..volume.lebs() {
        assert_eq!(read(&volume, leb), content(leb, 1, LEB));
    }
    assert!(ubi.erase_counters().iter().enumerate().all(|(peb, count)| count.is_none() == [0, 1, 9].contains(&peb)));
}

#[test]
fn a_weak_block_does_not_hinder_formatting() {
    let rig = Rig::small(BLOCKS);
    set_faults(&rig, &Faults { weakblocks: weak([0, 2]), ..Faults::default() });
    let ubi = rig.attach();
    rig.sleep(&ubi, 10);
    // One block is in reserve; the other one is taken from what is available.
    assert_eq!(check_accounts(&ubi).bad_pebs, 2);
    let volume = make_all(&ubi);
    volume.write(0, 0, &content(0, 0, LEB)).unwrap();
    let (_, volume) = rig.reattach(&ubi);
    assert_eq!(read(&volume, 0), content(0, 0, LEB));
}

#[test]
fn a_leb_with_bit_flips_moves_to_another_block() {
    let (rig, ubi, volume) = rig();
    let data = content(2, 1, 3 * 512);
    volume.write(2, 0, &data).unwrap();
    volume.write(4, 0, &content(4, 1, 512)).unwrap();
    let block = block_with(&rig, &data);
    set_faults(&rig, &Faults { bitflips: 1, seed: 1, ..Faults::default() });
    let mut page = vec![0; 512];
    for _ in 0..100_000 {
        volume.read(2, 512, &mut page).unwrap();
        assert_eq!(page, &data[512..1024], "ECC corrects a single flip");
        if ubi.peb_counts().doubtful_pebs > 0 {
            break;
        }
    }
    assert_eq!(ubi.peb_counts().doubtful_pebs, 1);
    set_faults(&rig, &Faults::default());
    let before = rig.sim.counts(&causes::UBI_THREAD, &causes::WEAR_LEVELLING);
    rig.sleep(&ubi, 1);
    let moved = rig.sim.counts(&causes::UBI_THREAD, &causes::WEAR_LEVELLING) - before;
    // Its header and data read, the new header read back; only the pages with data are written, and the old block erased.
    assert_eq!((moved.page_reads, moved.page_programs, moved.erases), (1 + 7 + 1, 1 + 3 + 1, 1));
    assert_eq!(ubi.peb_counts().doubtful_pebs, 0);
    assert_ne!(block_with(&rig, &data), block);
    assert_eq!(&read(&volume, 2)[..data.len()], data);
    // The erased pages may still be used.
    volume.write(2, 3 * 512, &content(2, 2, 512)).unwrap();
    let (_, volume) = rig.reattach(&ubi);
    assert_eq!(&read(&volume, 2)[..4 * 512], [data, content(2, 2, 512)].concat());
}

#[test]
fn what_ecc_cannot_correct_is_reported_and_the_block_tested_when_it_is_given_back() {
    let (rig, ubi, volume) = rig();
    let data = content(2, 1, LEB);
    volume.write(2, 0, &data).unwrap();
    let block = block_with(&rig, &data);
    let grave = Weak { number: block * PAGES_PER_BLOCK + 4, good_operations: 0 };
    let faults = Faults { gravepages: vec![grave], ..Faults::default() };
    set_faults(&rig, &Faults { bitflips: 1, seed: 3, ..faults.clone() });
    let mut page = vec![0; 512];
    let reads = rig.counts(|| assert_eq!(volume.read(2, 3 * 512, &mut page), Err(UbiError::Uncorrectable)));
    assert_eq!(reads.page_reads, 4, "a read that fails is tried three times more");
    volume.read(2, 0, &mut page).unwrap();
    assert_eq!(page, &data[..512]);
    while ubi.peb_counts().doubtful_pebs == 0 {
        volume.read(2, 0, &mut page).unwrap();
    }
    set_faults(&rig, &faults);
    // It should move because of the flips, and cannot be read: it stays where it is.
    rig.sleep(&ubi, 1);
    assert_eq!(ubi.peb_counts().doubtful_pebs, 1);
    assert_eq!(block_with(&rig, &data), block);
    volume.unmap(2).unwrap();
    rig.sleep(&ubi, 1);
    assert_eq!((ubi.peb_counts().doubtful_pebs, check_accounts(&ubi).bad_pebs), (0, 1));
}

/// Without free blocks the writer waits for the thread, which would like to move the very LEB because of bit flips.
#[test]
fn a_leb_that_is_being_rescued_is_not_moved_meanwhile() {
    let (rig, ubi, volume) = rig();
    for leb in 0..volume.lebs() {
        volume.write(leb, 0, &content(leb, 1, 1024)).unwrap();
    }
    let block = block_with(&rig, &content(3, 1, 64));
    let weakpages = weak([block * PAGES_PER_BLOCK + 3]);
    set_faults(&rig, &Faults { weakpages: weakpages.clone(), bitflips: 1, seed: 1, ..Faults::default() });
    let mut page = vec![0; 512];
    while ubi.peb_counts().doubtful_pebs == 0 {
        volume.read(3, 0, &mut page).unwrap();
    }
    set_faults(&rig, &Faults { weakpages, ..Faults::default() });
    for leb in 8..8 + ubi.peb_counts().free_pebs {
        volume.change(leb, &content(leb, 2, 1024)).unwrap();
    }
    assert_eq!(ubi.peb_counts().free_pebs, 0);
    let erases = rig.sim.counts(&causes::UBI_THREAD, &causes::ERASE).erases;
    volume.write(3, 1024, &content(3, 2, 512)).unwrap();
    assert!(rig.sim.counts(&causes::UBI_THREAD, &causes::ERASE).erases > erases, "the thread had its turn");
    let expected = [content(3, 1, 1024), content(3, 2, 512)].concat();
    assert_eq!(&read(&volume, 3)[..1536], expected);
    rig.sleep(&ubi, 1);
    assert_eq!(&read(&volume, 3)[..1536], expected);
    assert_eq!((check_accounts(&ubi).pending_pebs, ubi.peb_counts().doubtful_pebs), (0, 0));
}

#[test]
fn a_damaged_copy_of_the_volume_table_is_written_anew() {
    for damaged in 0..2 {
        let (rig, ubi, volume) = rig();
        volume.write(0, 0, &content(0, 1, LEB)).unwrap();
        ubi.flush().unwrap();
        ubi.detach();
        // The copies are the two blocks whose data begin with the record of the volume: 18 LEBs, alignment 1.
        let head = [0, 0, 0, 18, 0, 0, 0, 1];
        let copies: Vec<u32> = (0..BLOCKS)
            .filter(|block| {
                rig.nand.with_chip(|chip| {
                    chip.peek_data(block * PAGES_PER_BLOCK + 1).is_some_and(|page| page.starts_with(&head))
                })
            })
            .collect();
        assert_eq!(copies.len(), 2);
        let page = copies[damaged] * PAGES_PER_BLOCK + 2;
        set_faults(&rig, &Faults { gravepages: vec![Weak { number: page, good_operations: 0 }], ..Faults::default() });
        let before = rig.sim.total();
        let ubi = rig.attach();
        // A header and the seven pages of the table.
        assert_eq!((rig.sim.total() - before).page_programs, 1 + 7);
        set_faults(&rig, &Faults::default());
        ubi.flush().unwrap();
        let (ubi, volume) = rig.reattach(&ubi);
        assert_eq!(read(&volume, 0), content(0, 1, LEB));
        assert_eq!(check_accounts(&ubi).kept_pebs, 0);
    }
}
