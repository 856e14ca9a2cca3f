//! YAFFS2 under the conformance kit on SPI NAND and on pages of 4 KiB, in short; and what it wants of a page.

use crate::subject;

use ffslab_conformance::on::{check_quickly, Kind, LARGE_PAGES, SMALL_PAGES, SPI_NAND, SPI_NAND_OF_ONE_BIT};
use ffslab_conformance::{full, must, Machine, On, Rig};
use ffslab_yaffs2::{Generation, Options};
use subject::Yaffs2Subject;

fn on(kind: Kind, blocks: u32, options: Options) -> On<Yaffs2Subject> {
    On { subject: Yaffs2Subject { policy: "kernel", options, geometry: kind.with_blocks(blocks) }, medium: kind.medium }
}

fn today() -> Options {
    Options::of(Generation::Today)
}

#[test]
fn spi_nand() {
    must(check_quickly(on(SPI_NAND, 24, today())));
    must(check_quickly(on(SPI_NAND_OF_ONE_BIT, 24, Options { inband_tags: true, ..today() })));
}

#[test]
fn large_pages() {
    must(check_quickly(on(LARGE_PAGES, 24, today())));
}

/// 24 free bytes do not hold tags with their ECC, and 512 bytes are less than YAFFS2 takes for a chunk.
#[test]
fn pages_without_room_are_refused() {
    let refused = |on: &On<Yaffs2Subject>| Rig::new(on, Machine::USUAL).unwrap().mount().unwrap_err().to_string();
    let text = refused(&on(SPI_NAND_OF_ONE_BIT, 24, today()));
    assert_eq!(text, "mount: YAFFS2's tags need 28 free out-of-band bytes per page, the chip has 24: use in-band tags");
    let text = refused(&on(SMALL_PAGES, 24, today()));
    assert!(text.contains("YAFFS2 needs pages of 1024 bytes or more"), "{text}");
    // Without their ECC they have room (mount option tags-ecc-off).
    let on = on(SPI_NAND_OF_ONE_BIT, 24, Options { tags_ecc: false, ..today() });
    assert!(Rig::new(&on, Machine::USUAL).unwrap().mount().is_ok());
}

/// Blocks that fail, on a chip that tells of each corrected bit.
#[test]
fn failing_blocks_and_pages_of_spi_nand_lose_nothing() {
    for seed in 1..=2 {
        must(full::check_faults(&on(SPI_NAND, 40, today()), Machine::USUAL, seed));
    }
}
