//! UBIFS under the conformance kit on SPI NAND, on small pages and on pages of 4 KiB, in short.

mod subject;

use ffslab_conformance::on::{check_quickly, Kind, LARGE_PAGES, SMALL_PAGES, SPI_NAND, SPI_NAND_OF_ONE_BIT};
use ffslab_conformance::{must, On};
use ffslab_ubifs::Options;
use subject::{UbifsSubject, BAD_RESERVE};

fn passes(kind: Kind, blocks: u32) {
    let subject =
        UbifsSubject { options: Options::default(), geometry: kind.with_blocks(blocks), bad_reserve: BAD_RESERVE };
    must(check_quickly(On { subject, medium: kind.medium }, false));
}

#[test]
fn spi_nand() {
    passes(SPI_NAND, 48);
    passes(SPI_NAND_OF_ONE_BIT, 48);
}

#[test]
fn small_pages() {
    passes(SMALL_PAGES, 80);
}

#[test]
fn large_pages() {
    passes(LARGE_PAGES, 40);
}
