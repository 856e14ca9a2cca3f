//! What is known of a medium before there is one.

use super::mlc::MlcSpec;
use crate::error::MachineError;
use ffslab_flash::{Ageing, Faults, Geometry, NorTiming, Rules, Timing};
use ffslab_mtd::nor::NorDriver;
use ffslab_mtd::spi_nand::Wiring;
use ffslab_mtd::{Driver, MediumError, Mtd};
use ffslab_profiles::PartKind;
use ffslab_sim::Sim;
use std::ops::Range;

/// All that the laboratory knows of a medium.
pub struct Descriptor {
    /// As users write it: `medium = "nand"`.
    pub name: &'static str,
    /// As people write it: "raw NAND".
    pub title: &'static str,
    /// A sentence for help texts.
    pub about: &'static str,
    /// Kinds of parts that are driven so; empty: it has no part, or any.
    pub of_parts: &'static [PartKind],
    /// Keys of `[stack]` that say how large it is and how it works.
    pub keys: &'static [&'static str],
    /// How the partition of a stack with Linux, or of a program without an operating system, is made; `None`: it does not
    /// stand there.
    pub on_linux: Option<OnLinux>,
    /// How file systems of RTEMS with their own flash driver get it; `None`: they do not.
    pub on_rtems: Option<OnRtems>,
}

/// The chip of a board, its driver and the partition on it.
#[derive(Clone, Debug)]
pub struct PartitionSpec {
    pub geometry: Geometry,
    pub timing: Timing,
    pub rules: Rules,
    pub driver: Driver,
    /// What MLC is beside other NAND.
    pub mlc: MlcSpec,
    /// What an SPI NAND chip is and on which bus it is; `None`: it is another chip.
    pub spi_nand: Option<Wiring>,
    /// The same of NOR.
    pub nor: Option<NorWiring>,
    pub faults: Faults,
    /// How its cells age; `None`: they do not.
    pub ageing: Option<Ageing>,
    pub first_block: u32,
    pub partition_blocks: u32,
}

/// A NOR chip and how it is driven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NorWiring {
    pub cells: NorTiming,
    pub driver: NorDriver,
}

impl PartitionSpec {
    /// Bytes that an erase block holds.
    pub fn erase_block_bytes(&self) -> u64 {
        let Geometry { page_bytes, pages_per_block, .. } = self.geometry;
        u64::from(page_bytes) * u64::from(self.mlc.used_pages(pages_per_block))
    }

    /// Its erase blocks on the chip.
    pub fn blocks(&self) -> Range<u32> {
        self.first_block..self.first_block.saturating_add(self.partition_blocks)
    }
}

/// Makes a partition, erased.
///
/// Errors: sizes that no chip has, a partition that is not on it.
pub type OnLinux = fn(&PartitionSpec, &Sim) -> Result<Mtd, MediumError>;

/// Flash for a file system of RTEMS.
pub struct OnRtems {
    /// Makes it, erased.
    ///
    /// Errors: sizes that no chip has.
    pub make: fn(&Sizes, &Sim) -> Result<Mtd, MediumError>,
    /// The geometry of its chip in kept states; `None`: they hold plain bytes.
    pub chip: fn(&Sizes) -> Option<Geometry>,
}

/// Sizes of flash that has no data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub erase_block_bytes: u32,
    pub size_bytes: u64,
}

/// Flash to build for a file system of RTEMS.
#[derive(Clone, Copy, Debug)]
pub struct FlashSpec {
    /// One that stands there ([`Descriptor::on_rtems`]).
    pub medium: &'static Descriptor,
    pub sizes: Sizes,
}

impl FlashSpec {
    fn how(&self) -> Result<&'static OnRtems, MachineError> {
        self.medium.on_rtems.as_ref().ok_or(MachineError::NotOnRtems { title: self.medium.title })
    }

    /// Makes it, erased.
    ///
    /// Errors: sizes that no chip has, a medium that RTEMS has no driver for.
    pub fn make(&self, sim: &Sim) -> Result<Mtd, MachineError> {
        Ok((self.how()?.make)(&self.sizes, sim)?)
    }

    /// The geometry of its chip in kept states; `None`: they hold plain bytes.
    pub fn chip_geometry(&self) -> Option<Geometry> {
        self.how().ok().and_then(|how| (how.chip)(&self.sizes))
    }
}

ffslab_sim::known_by_name!(Descriptor);
