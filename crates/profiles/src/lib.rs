//! # profiles: chips, boards, kernels and block devices as files of numbers
//!
//! **Role.** Finds a profile by name or path and makes of it what the layers take: a board with its part and kernel
//! ([`Profile`]), what code costs on a board with RTEMS ([`rtems_board`]), what a block device costs ([`block_device`]). Shows every
//! number of one with its unit, source and status ([`show()`]). The built-in ones (the repository's `profiles/` folder) are part of
//! the binary; an experiment may name a file of its own instead, which may build on another one (`layers`).
//!
//! **Follows.** Nothing: each number names its source itself. Published driver times are totals of one operation that include the
//! chip and the bus. What the driver adds, and the power that it draws, is derived here, so that it stays the same when
//! another part is put on the board.
//!
//! **Leaves out.** What the numbers mean: that stands with the layers that spend them (`sim`, `linux`, `mtd`, `rtems`). Measuring
//! them: `ffslab calibrate` does.

mod board;
mod build_of_kernel;
mod built_in;
mod cards;
mod circumstances;
mod classes;
mod constant;
mod cpu;
mod driver;
mod driver_keys;
mod ecc_name;
mod entries;
mod error;
mod kernel;
mod keys;
mod layers;
mod loader;
mod look_up;
mod names;
mod nand_wait;
mod part;
mod profile;
mod program;
mod rtems;
mod rtems_files;
mod show;
mod spi;
mod template;

pub use board::Board;
pub use build_of_kernel::with_words;
pub use built_in::is_path;
pub use cards::CardProfile;
pub use circumstances::Circumstances;
pub use constant::Status;
pub use driver::SimulatedChip;
pub use ecc_name::EccName;
pub use error::ProfileError;
pub use kernel::{
    kernel_note, ErofsRules, FlashRules, FsRules, KernelFault, KernelProfile, MlcRules, OverlayfsRules, ReserveOf,
    SpiNandRules, SquashfsRules, Yaffs2Version, KERNEL_DEFAULT,
};
pub use loader::Loader;
pub use look_up::kernel_series;
pub use names::{nearest_names, unknown_profile};
pub use nand_wait::NandWaitName;
pub use part::{
    Cell, ChipPower, CommandSet, EccRequired, EccStatus, LongestTimes, NandArray, NandCommands, NorArray, OnDieEcc,
    OobLayout, PageRead, Pairing, ParallelNorPart, Part, PartKind, SpiMode, SpiNandPart, SpiNorPart, SpiRead,
    WriteBuffer,
};
pub use profile::Profile;
pub use program::ProgramCosts;
pub use rtems::{block_device, card, rtems_board};
pub use show::{
    list, show, ConstantValue, DerivedCost, PartSummary, ProfileName, ShownConstant, ShownProfile, StatusCounts,
};
pub use spi::SpiController;
pub use template::template;

#[cfg(test)]
mod tests;
