//! Stores on SPI NOR, or on NOR that a program makes of SPI NAND, and what a program knows of them.

#![allow(dead_code)] // Of some of the tests.

use ffslab_conformance::on::{SPI_NAND, SPI_NOR};
use ffslab_flash::Geometry;
use ffslab_foreign::Translation;
use ffslab_fs::{Errno, KeyValueStore};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};
use ffslab_stores::ekv::{self, EkvConfig};
use ffslab_stores::sequential::{self, SequentialCache, SequentialConfig};
use ffslab_stores::{tickv, StoreError};
use std::collections::BTreeMap;

/// What a store is to hold.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store with its configuration.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Sequential(SequentialConfig),
    Ekv,
    Tickv,
    /// One of them on a page map on SPI NAND.
    Mapped(fn() -> Kind),
}

/// Erase blocks that the page map has for itself.
const SPARE_BLOCKS: u32 = 8;

/// NOR on the page map of such a chip.
fn nor(chip: &Mtd, is_new: bool) -> Mtd {
    let logical_pages = (chip.blocks() - SPARE_BLOCKS) * chip.pages_per_block();
    let map = Translation::PageMap { logical_pages };
    map.as_nor(chip, is_new, u32::MAX).unwrap_or_else(|error| panic!("{error}"))
}

pub fn sequential(cache: SequentialCache, word_bytes: u32) -> Kind {
    Kind::Sequential(SequentialConfig { cache, word_bytes, ..SequentialConfig::default() })
}

impl Kind {
    pub fn format(self, medium: &Mtd) -> Result<(), StoreError> {
        match self {
            Kind::Sequential(config) => sequential::format(medium, &config),
            Kind::Ekv => ekv::format(medium, &EkvConfig::default()),
            Kind::Tickv => tickv::format(medium),
            Kind::Mapped(kind) => kind().format(&nor(medium, true)),
        }
    }

    pub fn mount(self, medium: &Mtd) -> Result<Box<dyn KeyValueStore>, StoreError> {
        match self {
            Kind::Sequential(config) => sequential::mount(medium, &config),
            Kind::Ekv => ekv::mount(medium, &EkvConfig::default()),
            Kind::Tickv => tickv::mount(medium),
            Kind::Mapped(kind) => kind().mount(&nor(medium, false)),
        }
    }

    pub fn made(self, blocks: u32) -> (Mtd, Box<dyn KeyValueStore>) {
        let medium = match self {
            Kind::Mapped(_) => {
                let bytes = SPI_NAND.geometry.page_bytes * SPI_NAND.geometry.pages_per_block;
                chip(SPI_NAND, SPI_NAND.with_blocks(SPARE_BLOCKS + (blocks * 4096).div_ceil(bytes)))
            }
            _ => medium(blocks),
        };
        self.format(&medium).expect("a new chip can be formatted");
        let store = self.mount(&medium).expect("what was formatted can be mounted");
        (medium, store)
    }
}

/// A chip with so many erase blocks of 4 KiB.
pub fn medium(blocks: u32) -> Mtd {
    chip(SPI_NOR, Geometry { pages_per_block: 16, ..SPI_NOR.with_blocks(blocks) })
}

fn chip(kind: ffslab_conformance::on::Kind, geometry: Geometry) -> Mtd {
    (kind.medium)(&Sim::new(SimConfig::default()), geometry).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Bytes that tell one value from the next.
pub fn value(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 + seed * 7 + at / 251) as u8).collect()
}

pub fn key(number: usize) -> Vec<u8> {
    format!("key{number:02}").into_bytes()
}

/// What the store gives for these keys.
pub fn held(store: &mut dyn KeyValueStore, keys: usize) -> Result<Model, Errno> {
    let mut held = Model::new();
    for number in 0..keys {
        match store.get(&key(number)) {
            Ok(value) => drop(held.insert(key(number), value)),
            Err(Errno::NoEnt) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(held)
}

/// What the store says of all its keys; `None`: it does not know them.
pub fn iterated(store: &mut dyn KeyValueStore) -> Result<Option<Model>, Errno> {
    let mut all = Model::new();
    match store.iterate(&mut |key, value| drop(all.insert(key.to_vec(), value.to_vec()))) {
        Ok(()) => Ok(Some(all)),
        Err(Errno::NoSys) => Ok(None),
        Err(error) => Err(error),
    }
}
