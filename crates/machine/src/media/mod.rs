//! What holds the bytes below file systems, by name: one descriptor each, in one table. Nothing else in the laboratory lists
//! media. What a medium can do stands in [`ffslab_mtd::Capabilities`]; file systems ask for that, and never for a name.
//!
//! A medium that is not part of this crate joins by [`register`]; `tests/toy` of the repository has an example.

mod block_device;
mod descriptor;
mod mlc;
mod nand;
mod nor;
mod ram_flash;
mod spi_nand;
mod table;

pub use block_device::BLOCK_DEVICE;
pub use descriptor::{Descriptor, FlashSpec, NorWiring, OnLinux, OnRtems, PartitionSpec, Sizes};
pub use mlc::MlcSpec;
pub use nand::NAND;
pub use nor::{nor_wiring, NOR};
pub use ram_flash::RAM_FLASH;
pub use spi_nand::{wiring, wiring_by, SPI_NAND};
pub use table::{all, of_part, on_linux, register};

/// Those of this crate, in the order in which people read them.
static BUILT_IN: [&Descriptor; 5] = [&NAND, &SPI_NAND, &NOR, &RAM_FLASH, &BLOCK_DEVICE];
