//! JFFS2 under the conformance kit on SPI NAND, on small pages and on pages of 4 KiB, in short.

mod subject;

use ffslab_conformance::on::{check_quickly, Kind, LARGE_PAGES, SMALL_PAGES, SPI_NAND, SPI_NAND_OF_ONE_BIT};
use ffslab_conformance::{must, On};
use ffslab_jffs2::{Compression, Options};
use subject::Jffs2Subject;

fn passes(kind: Kind, blocks: u32, options: Options, faults: bool) {
    let subject = Jffs2Subject { options, geometry: kind.with_blocks(blocks) };
    must(check_quickly(On { subject, medium: kind.medium }, faults));
}

#[test]
fn spi_nand() {
    passes(SPI_NAND, 24, Options::default(), false);
    let summaries = Options { compression: Compression::Zlib, summary: true, ..Options::default() };
    passes(SPI_NAND_OF_ONE_BIT, 24, summaries, false);
}

#[test]
fn small_pages() {
    passes(SMALL_PAGES, 48, Options::default(), false);
}

#[test]
fn large_pages() {
    passes(LARGE_PAGES, 20, Options::default(), false);
}
