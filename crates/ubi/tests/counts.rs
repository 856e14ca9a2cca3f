//! Flash operations of single actions, as Linux 6.1 does them on the measured partitions.

use crate::support;

use ffslab_flash::Geometry;
use ffslab_mtd::Ecc;
use ffslab_ubi::BadReserve;
use support::{content, Rig, LEB_BYTES, PAGE_BYTES};

#[test]
fn attach_reads_a_page_of_each_block_and_both_volume_tables() {
    // The volume table: 128 records of 172 bytes are 11 pages.
    for (blocks, per_1024) in [(160, 13), (800, 11)] {
        let mut rig = Rig::new(blocks);
        rig.options.bad_reserve = BadReserve::Per1024OfChip(per_1024);
        let (ubi, _) = rig.formatted();
        ubi.detach();
        let attach = rig.counts(|| drop(rig.attach()));
        assert_eq!(attach.page_reads, u64::from(blocks) + 2 * 11);
        assert_eq!((attach.page_programs, attach.erases, attach.oob_reads), (0, 0, 0));
        // A page: 25 us, and 2112 bytes of 50 ns. Measured with 160 blocks: 23,769.2 us.
        assert_eq!(attach.busy_ns, attach.page_reads * 130_600);
    }
}

#[test]
fn with_software_ecc_attach_reads_the_two_headers_of_a_block_apart() {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 160 };
    let rig = Rig::with(geometry, Ecc::SOFTWARE);
    let (ubi, _) = rig.formatted();
    ubi.detach();
    let attach = rig.counts(|| drop(rig.attach()));
    assert_eq!((attach.page_reads, attach.partial_page_reads), (2 * 160 + 2 * 11, 2 * 160));
    // A header: one ECC step of 256 bytes and its 3 bytes of code. Measured: 15,017.2 us.
    assert_eq!(attach.busy_ns, 15_017_200);
}

#[test]
fn the_volume_gets_what_ubi_does_not_reserve() {
    // 2 for the volume table, 1 for wear levelling, 1 for the atomic change, and the reserve for bad blocks.
    for (blocks, per_1024, lebs) in [(160, 1, 154), (800, 4, 788)] {
        let mut rig = Rig::new(blocks);
        rig.options.chip_blocks = Some(2048);
        rig.options.bad_reserve = BadReserve::Per1024OfChip(per_1024);
        let ubi = rig.attach();
        assert_eq!((ubi.available_lebs(), ubi.leb_bytes()), (lebs, 129_024));
    }
}

#[test]
fn mapping_is_a_second_program_of_the_first_page_and_unmapping_an_erase_in_the_background() {
    let rig = Rig::new(20);
    let (ubi, volume) = rig.formatted();
    let map = rig.counts(|| volume.map(0).unwrap());
    assert_eq!((map.page_programs, map.reprograms, map.page_reads, map.erases), (1, 1, 0, 0));
    let unmap = rig.counts(|| volume.unmap(0).unwrap());
    assert_eq!(unmap.operations(), 0);
    let background = rig.counts(|| rig.sleep(&ubi, 1));
    assert_eq!((background.erases, background.page_programs, background.page_reads), (1, 1, 0));
    let write = rig.counts(|| volume.write(1, 0, &content(1, 0, 3 * PAGE_BYTES)).unwrap());
    assert_eq!((write.page_programs, write.reprograms), (4, 1));
    let change = rig.counts(|| volume.change(1, &content(1, 1, LEB_BYTES)).unwrap());
    assert_eq!((change.page_programs, change.reprograms, change.erases), (64, 1, 0));
}

#[test]
fn without_sub_pages_the_second_header_has_a_page_of_its_own() {
    let mut rig = Rig::new(20);
    rig.options.subpage_writes = false;
    let (ubi, volume) = rig.formatted();
    assert_eq!(ubi.leb_bytes(), 126_976);
    let map = rig.counts(|| volume.map(0).unwrap());
    assert_eq!((map.page_programs, map.reprograms), (1, 0));
    ubi.detach();
    let attach = rig.counts(|| drop(rig.attach()));
    assert_eq!(attach.page_reads, 2 * 20 + 2 * 11);
}

#[test]
fn an_erased_partition_is_formatted_with_one_erase_of_each_block() {
    let rig = Rig::new(20);
    let attach = rig.counts(|| {
        let ubi = rig.attach();
        // Two blocks for the volume table at once, the others in the background.
        assert_eq!(rig.sim.total().erases, 2);
        rig.sleep(&ubi, 10);
        assert_eq!(ubi.max_erase_counter(), 1);
        assert!(ubi.erase_counters().iter().all(|&counter| counter == Some(1)));
    });
    assert_eq!(attach.erases, 20);
    assert_eq!(attach.page_programs, 20 + 2 * (1 + 11));
}
