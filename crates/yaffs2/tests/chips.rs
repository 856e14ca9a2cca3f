//! YAFFS2 under the conformance kit on SPI NAND and on pages of 4 KiB, in short; and what it wants of a page.

mod subject;

use ffslab_conformance::on::{check_quickly, Kind, LARGE_PAGES, SMALL_PAGES, SPI_NAND, SPI_NAND_OF_ONE_BIT};
use ffslab_conformance::{must, Machine, On, Rig};
use ffslab_yaffs2::{Generation, Options};
use subject::Yaffs2Subject;

fn on(kind: Kind, blocks: u32, options: Options) -> On<Yaffs2Subject> {
    On { subject: Yaffs2Subject { options, geometry: kind.with_blocks(blocks) }, medium: kind.medium }
}

fn today() -> Options {
    Options::of(Generation::Today)
}

#[test]
fn spi_nand() {
    must(check_quickly(on(SPI_NAND, 24, today()), false));
    must(check_quickly(on(SPI_NAND_OF_ONE_BIT, 24, Options { inband_tags: true, ..today() }), false));
}

#[test]
fn large_pages() {
    must(check_quickly(on(LARGE_PAGES, 24, today()), false));
}

/// 24 free bytes do not hold tags with their ECC, and 512 bytes are less than YAFFS2 takes for a chunk.
#[test]
fn pages_without_room_are_refused() {
    let refused = |on: &On<Yaffs2Subject>| Rig::new(on, Machine::USUAL).unwrap().mount().unwrap_err().to_string();
    println!("{}", refused(&on(SPI_NAND_OF_ONE_BIT, 24, today())));
    println!("{}", refused(&on(SMALL_PAGES, 24, Options { inband_tags: true, ..today() })));
}
