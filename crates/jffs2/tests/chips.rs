//! JFFS2 under the conformance kit on SPI NAND, on small pages, on pages of 4 KiB and on NOR, in short.

use crate::subject;

use ffslab_conformance::on::{
    check_quickly, Kind, LARGE_PAGES, PARALLEL_NOR, SMALL_PAGES, SPI_NAND, SPI_NAND_OF_ONE_BIT, SPI_NOR,
};
use ffslab_conformance::{full, must, power_cuts, Machine, On};
use ffslab_jffs2::{Compression, Options};
use subject::Jffs2Subject;

fn passes(kind: Kind, blocks: u32, options: Options) {
    let subject = Jffs2Subject { policy: "kernel", options, geometry: kind.with_blocks(blocks) };
    must(check_quickly(On { subject, medium: kind.medium }));
}

#[test]
fn spi_nand() {
    passes(SPI_NAND, 24, Options::default());
    let summaries = Options { compression: Compression::Zlib, summary: true, ..Options::default() };
    passes(SPI_NAND_OF_ONE_BIT, 24, summaries);
}

#[test]
fn small_pages() {
    passes(SMALL_PAGES, 48, Options::default());
}

/// At one of these cuts garbage collection has copied a node whose version a torn node has, too, but which is longer. It takes the
/// torn node's place when the inode is read, and not one behind older nodes, which would then count as newer.
#[test]
fn a_copy_takes_the_place_of_a_torn_node_of_its_version() {
    let subject = Jffs2Subject { policy: "kernel", options: Options::default(), geometry: SMALL_PAGES.with_blocks(48) };
    let only = power_cuts::Options { points_max: 24, only: Some("background work"), ..power_cuts::Options::default() };
    must(power_cuts::check(&On { subject, medium: SMALL_PAGES.medium }, &only));
}

#[test]
fn large_pages() {
    passes(LARGE_PAGES, 20, Options::default());
}

#[test]
fn spi_nor() {
    passes(SPI_NOR, 24, Options::default());
    passes(SPI_NOR, 24, Options { summary: true, ..Options::default() });
}

#[test]
fn parallel_nor() {
    passes(PARALLEL_NOR, 24, Options { compression: Compression::Zlib, summary: true, ..Options::default() });
}

/// Blocks that fail, on a chip that tells of each corrected bit.
#[test]
fn failing_blocks_and_pages_of_spi_nand_lose_nothing() {
    for seed in 1..=2 {
        let subject =
            Jffs2Subject { policy: "kernel", options: Options::default(), geometry: SPI_NAND.with_blocks(40) };
        must(full::check_faults(&On { subject, medium: SPI_NAND.medium }, Machine::USUAL, seed));
    }
}
