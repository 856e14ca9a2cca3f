//! UBIFS under the conformance kit on SPI NAND, on small pages, on pages of 4 KiB, on MLC and on NOR, in short.

use crate::subject;

use ffslab_conformance::on::{
    check_quickly, Kind, LARGE_PAGES, MLC, MLC_IN_SLC_MODE, PARALLEL_NOR, SMALL_PAGES, SPI_NAND, SPI_NOR,
};
use ffslab_conformance::{full, must, power_cuts, sequences, Failure, Machine, On};
use ffslab_flash::{Faults, Geometry, Weak};
use ffslab_mtd::Mtd;
use ffslab_sim::Sim;
use ffslab_ubi::BadReserve;
use ffslab_ubifs::Options;
use subject::{UbifsSubject, BAD_RESERVE};

fn passes(kind: Kind, blocks: u32) {
    let subject = UbifsSubject {
        policy: "kernel",
        options: Options::default(),
        geometry: kind.with_blocks(blocks),
        bad_reserve: BAD_RESERVE,
    };
    must(check_quickly(On { subject, medium: kind.medium }));
}

#[test]
fn spi_nand() {
    passes(SPI_NAND, 48);
}

#[test]
fn small_pages() {
    passes(SMALL_PAGES, 80);
}

#[test]
fn large_pages() {
    passes(LARGE_PAGES, 40);
}

/// Of pages that share their cells only the first is used, so a torn program harms nothing that was there before.
#[test]
fn mlc_in_slc_mode() {
    passes(MLC_IN_SLC_MODE, 48);
}

/// Kernels before 3.13 took MLC for any other NAND: a torn program of an upper page destroys its lower page, whose content had
/// been synchronised long before.
#[test]
fn mlc_without_slc_mode_loses_what_was_written() {
    let geometry = MLC.with_blocks(24);
    let subject = UbifsSubject { policy: "kernel", options: Options::default(), geometry, bad_reserve: BAD_RESERVE };
    let on = On { subject, medium: MLC.medium };
    let lost = power_cuts::check(&on, &power_cuts::Options { points_max: 200, ..power_cuts::Options::default() });
    let failure = lost.expect_err("a lower page is destroyed");
    println!("{failure}");
}

#[test]
fn spi_nor() {
    passes(SPI_NOR, 40);
}

#[test]
fn parallel_nor() {
    passes(PARALLEL_NOR, 40);
}

/// A chip with bad blocks, others whose erase fails soon, and reads with a flipped bit.
fn with_faults(sim: &Sim, geometry: Geometry) -> Result<Mtd, Failure> {
    let weak = |number| Weak { number, good_operations: 2 };
    let faults = Faults {
        badblocks: vec![0, 17, 40],
        weakblocks: [5, 9, 23].map(weak).to_vec(),
        bitflips: 4,
        seed: 9,
        ..Faults::default()
    };
    let mtd = (SPI_NAND.medium)(sim, geometry)?;
    let set = mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&faults));
    set.map(|()| mtd).map_err(|error| Failure::new(error.to_string()))
}

#[test]
fn bad_and_failing_blocks_of_spi_nand_lose_nothing() {
    let geometry = SPI_NAND.with_blocks(64);
    let subject = UbifsSubject {
        policy: "kernel",
        options: Options::default(),
        geometry,
        bad_reserve: BadReserve::Per1024OfChip(150),
    };
    let on = On { subject, medium: with_faults };
    let options = sequences::Options { cases: 6, seed: 31, machine: Machine::TINY, ..sequences::Options::default() };
    must(sequences::check(&on, &options));
    must(full::check(&on, Machine::TINY));
}
