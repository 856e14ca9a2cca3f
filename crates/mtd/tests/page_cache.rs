//! The NAND core's one-page cache (`nand_do_read_ops` and the functions that invalidate it). Exact counts of page reads
//! depend on each of these cases.

use crate::common;

use common::*;
use ffslab_mtd::{Ecc, Mtd, MtdError};

/// Is page 0 in the cache? Asks with a partial read, which leaves it there.
fn cached(mtd: &Mtd) -> bool {
    reads(mtd, 10, 20) == 0
}

/// A device whose cache holds page 0.
fn page_0_cached() -> Mtd {
    let mtd = written(Ecc::HARDWARE);
    assert_eq!(reads(&mtd, 100, 64), 1);
    assert!(cached(&mtd));
    mtd
}

#[test]
fn a_hit_costs_nothing_and_counts_nothing() {
    let mtd = page_0_cached();
    let (counts, took_ns) = cost(&mtd, || {
        mtd.read(1000, &mut [0; 1048]).unwrap();
    });
    assert_eq!((counts.operations(), counts.bus_out_bytes, took_ns), (0, 0, 0));
}

#[test]
fn a_partial_read_is_a_whole_page_read() {
    let mtd = written(Ecc::HARDWARE);
    let (counts, took_ns) = cost(&mtd, || {
        mtd.read(5, &mut [0; 64]).unwrap();
    });
    assert_eq!((counts.page_reads, counts.partial_page_reads, counts.bus_out_bytes, took_ns), (1, 0, 2112, 130_600));
}

/// Two nodes that touch in one page cost one read if nothing was read between.
#[test]
fn a_partial_read_replaces_the_cached_page() {
    let mtd = page_0_cached();
    assert_eq!(reads(&mtd, PAGE + 3, 10), 1);
    assert!(!cached(&mtd));
    assert_eq!(reads(&mtd, PAGE - 100, 200), 1, "page 0 is cached again, page 1 is read");
    assert_eq!(reads(&mtd, PAGE + 100, 100), 0);
}

#[test]
fn a_whole_page_read_uses_the_cache_but_does_not_fill_it() {
    let mtd = page_0_cached();
    assert_eq!(reads(&mtd, 0, PAGE as usize), 0);
    assert_eq!(reads(&mtd, PAGE, PAGE as usize), 1);
    assert!(cached(&mtd), "neither fills nor invalidates");
    assert_eq!(reads(&mtd, PAGE, PAGE as usize), 1);
    assert_eq!(reads(&mtd, PAGE, 1), 1);
    assert_eq!(reads(&mtd, PAGE, PAGE as usize), 0);
}

/// The kernel's 4164-byte node over three pages: partial, whole, partial.
#[test]
fn a_read_over_several_pages_leaves_the_last_partial_one() {
    let mtd = written(Ecc::HARDWARE);
    assert_eq!(reads(&mtd, 1000, 4164), 3);
    assert_eq!(reads(&mtd, 1000 + 4164, 68), 0);
    assert_eq!(reads(&mtd, 1000, 68), 1);
}

#[test]
fn writing_and_erasing_the_cached_page_invalidates_it() {
    let mtd = page_0_cached();
    mtd.write(2 * BLOCK, &pattern(3, PAGE)).unwrap();
    mtd.erase(3 * BLOCK).unwrap();
    assert!(cached(&mtd), "other pages and blocks do not matter");
    mtd.write(0, &[0xFF; 2048]).unwrap();
    assert!(!cached(&mtd));
    assert!(cached(&mtd));
    mtd.write_oob_free(PAGE, &[0xFF; 8]).unwrap();
    assert!(cached(&mtd));
    mtd.write_oob_free(0, &[0xFF; 8]).unwrap();
    assert!(!cached(&mtd));
    mtd.write_page_with_oob(0, &[0xFF; 2048], &[0xFF; 8]).unwrap();
    assert!(!cached(&mtd));
    mtd.erase(0).unwrap();
    let (counts, _) = cost(&mtd, || {
        mtd.read(10, &mut [0; 20]).unwrap();
    });
    assert_eq!(counts.page_reads, 1);
}

/// `nand_get_data_buf` declares the cache empty, whichever page is written.
#[test]
fn a_sub_page_write_of_any_page_invalidates_the_cache() {
    let mtd = page_0_cached();
    mtd.write_partial(5 * BLOCK, &[0; 512]).unwrap();
    assert!(!cached(&mtd));
}

#[test]
fn oob_reads_and_reads_with_oob_leave_the_cache_alone() {
    let mtd = page_0_cached();
    mtd.read_oob_free(0, &mut [0; 38]).unwrap();
    mtd.read_oob_free(PAGE, &mut [0; 38]).unwrap();
    let (counts, _) = cost(&mtd, || {
        mtd.read_page_with_oob(PAGE, &mut [0; 2048], &mut [0; 8]).unwrap();
        mtd.read_page_with_oob(0, &mut [0; 2048], &mut [0; 8]).unwrap();
    });
    assert_eq!(counts.page_reads, 2, "the OOB bytes are not in the cache");
    assert!(cached(&mtd));
}

/// The cache belongs to the chip: partitions share it.
#[test]
fn partitions_share_the_cache() {
    let nand = nand(Ecc::HARDWARE);
    let (a, b) = (Mtd::new(&nand, 0, 2).unwrap(), Mtd::new(&nand, 2, 14).unwrap());
    a.write(0, &pattern(1, 2 * BLOCK)).unwrap();
    assert_eq!(reads(&a, 100, 64), 1);
    b.read(100, &mut [0; 64]).unwrap();
    assert_eq!(reads(&a, 100, 64), 1);
}

#[test]
fn an_uncorrectable_page_is_not_cached() {
    let mtd = page_0_cached();
    let faults = ffslab_flash::Faults { gravepages: vec!["1:0".parse().unwrap()], ..Default::default() };
    mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&faults)).unwrap();
    for _ in 0..2 {
        let (counts, _) = cost(&mtd, || {
            assert_eq!(mtd.read(PAGE, &mut [0; 10]), Err(MtdError::Uncorrectable));
        });
        assert_eq!(counts.page_reads, 1);
    }
    assert!(!cached(&mtd));
}

/// Looking at the chip's counters must not change the counts that follow; changing its content must.
#[test]
fn access_to_the_chip_renews_the_cache_only_when_needed() {
    let mtd = page_0_cached();
    let erases: u32 = mtd.nand().unwrap().with_chip(|chip| chip.erase_counts().iter().sum());
    assert_eq!(erases, 0);
    assert!(cached(&mtd));
    let image = mtd.nand().unwrap().with_chip(|chip| chip.snapshot());
    assert!(cached(&mtd));
    mtd.nand().unwrap().with_chip(|chip| chip.restore(&image)).unwrap();
    assert!(!cached(&mtd));
    mtd.nand().unwrap().with_chip(|chip| chip.erase(3)).unwrap();
    assert!(!cached(&mtd));
    mtd.nand().unwrap().with_chip(|chip| chip.power_on());
    assert!(!cached(&mtd));
    mtd.nand().unwrap().nand().restart();
    assert!(!cached(&mtd));
}
