//! # flash: what holds the bytes
//!
//! **Role.** The chips. Raw NAND ([`Chip`]) holds real bytes, page data and OOB: geometry, program and erase rules, time
//! on the array and on the bus, wear, faults, power cuts, and image files as `nanddump` and `nandwrite` exchange them.
//! Every operation moves the virtual clock and is counted under its present cause ([`ffslab_sim::Sim`]). An [`Array`] is
//! many of them: channels, chips, dies and planes that work at the same time, for whoever uses them so. NOR
//! ([`NorFlash`]) holds bytes and counts what is done to them: serial and parallel chips of data sheets have times, suspend
//! erases and are counted by cause, too; without times the driver above is charged for copying.
//!
//! **Follows.** Data sheets for the rules (programming clears bits, erasing sets them, a limited number of
//! programs of one page, pages that share cells); Linux 6.1 `drivers/mtd/nand/raw/nandsim.c` for the names and meanings of
//! faults; `drivers/mtd/nand/ecc-sw-hamming.c` for the ECC bytes that an image for a real kernel needs; ONFI and OpenFlash
//! for what stands in the head of the array.
//!
//! **Leaves out.** Bits go wrong by wear, read disturb and time only where a model of ageing is set ([`Ageing`]). ECC is the
//! business of `mtd`: the chip only says which bits it flipped.

mod ageing;
mod array;
mod cells;
mod chip;
pub mod draws;
mod energy;
mod error;
mod faults;
mod geometry;
pub mod hamming;
mod image;
mod law;
pub mod modification;
mod nor;
mod pairing;
mod power;
mod reading;
mod slab;
mod snapshot;
mod traffic;

pub use ageing::{Ageing, AgeingConstant, FrameErrors, Frames, Promise, Stress, CONSTANTS as AGEING_CONSTANTS, YEAR_S};
pub use array::{
    Address, Array, ArrayConfig, ArrayError, Change, Command, Constraints, Copied, CopyBack, Done, Failures, Hierarchy,
    HierarchyError, PageIn, PageOut, PLANES_MAX,
};
pub use chip::Chip;
pub use energy::{ChipEnergy, ChipPowerMilliwatt, Spent};
pub use error::FlashError;
pub use faults::{Faults, ParseWeakError, Weak, GENERATOR};
pub use geometry::{Geometry, GeometryError, Rules, Timing};
pub use image::{ImageError, ImageLayout};
pub use law::{Law, LawError, Laws, TimeLaw};
pub use modification::{BlockContent, Modification};
pub use nor::{Erasing, NorFlash, NorProgram, NorRead, NorReadPage, NorTiming};
pub use pairing::{Pairing, PairingError};
pub use power::Torn;
pub use reading::DAMAGED;
pub use snapshot::{ChipImage, GeometryMismatch};
pub use traffic::Traffic;
