//! # mtd: media below file systems, and the NAND driver
//!
//! **Role.** The one seam for media ([`Medium`], held as [`Mtd`]): byte-addressed reads, programs, OOB bytes that are free
//! for a file system's use, block erases, bad blocks, power, contents, and what of these a medium can do
//! ([`Capabilities`]). NAND ([`NandPartition`]), SPI NAND ([`spi_nand`]) and NOR ([`nor`]) implement it. The NAND driver decides which chip operation a request
//! becomes, corrects bit flips as far as the ECC goes, and charges the driver's time and the energy of each operation.
//!
//! **Follows.** Linux 6.1 `drivers/mtd/nand/raw/nand_base.c` (`nand_do_read_ops`, `nand_read_subpage`,
//! `nand_do_write_ops`, `nand_do_read_oob`, `nand_do_write_oob`, `nand_erase_nand`, `nand_block_markbad_lowlevel`),
//! `drivers/mtd/nand/ecc.c` (OOB layouts), for NOR what stands in the heads of its files, `drivers/mtd/mtdcore.c` (`mtd_read_oob`: when
//! bit flips are reported; `mtd_io_emulated_slc`: the SLC mode of partitions of MLC).
//!
//! **Leaves out.** DMA bounce buffers, secure regions, write protection, several chips behind one
//! MTD device, the bad block table on flash (the table is in RAM and is made from the marks).

pub mod causes;
mod correction;
mod driver;
pub mod ecc;
mod error;
mod handle;
mod health;
mod layout;
mod medium;
mod modifications;
mod nand;
pub mod nor;
mod page_memory;
mod partition;
mod partition_images;
pub mod ram;
mod retry;
mod slc_mode;
pub mod spi_nand;
pub mod striped;

pub use driver::{Driver, DriverError, OpCost, PageMemory};
pub use ecc::{Code, Ecc, Engine};
pub use error::{Corrected, MediumError, MtdError, RestoreError, SaveError};
pub use handle::Mtd;
pub use health::{Health, Upkeep};
pub use layout::OobLayout;
pub use medium::{Capabilities, Medium, MediumImage};
pub use modifications::{Modifications, PartOfMedium};
pub use nand::{is_erased, Nand};
pub use partition::{NandPartition, PartitionError};
pub use slc_mode::SlcModeError;
