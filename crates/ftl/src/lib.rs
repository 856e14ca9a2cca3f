//! # ftl: flash translation layers
//!
//! **Role.** What makes a block device out of flash: sectors are written where there is room, a map says where the newest copy of
//! each stands, garbage collection makes room again. It runs over any medium with out-of-band bytes ([`ffslab_mtd::Mtd`]) and
//! is byte-real: whatever is needed after a power cut is on the flash, and a mount reads it from there. The same code runs
//! without bytes for analytic studies ([`flash::NoBytes`]), where contents are not kept.
//!
//! **Follows.** Each mapping its paper, which [`mapping::MAPPINGS`] names: page map, DFTL, block map, BAST, FAST, LAST; the victim policies of the
//! first two theirs (`ffslab-policy`). Write amplification of garbage collection: Desnoyers, SYSTOR 2012, and Van Houdt, SIGMETRICS 2013
//! ([`formulas`]). Recovery by the out-of-band area and by checkpoints is as in Birrell et al., "A Design for High-Performance
//! Flash Disks" (2007), in principle; the layout on flash is ours.
//!
//! **Leaves out.** Pages that share cells (a cut program destroys an earlier page): such a chip is refused unless it is in SLC
//! mode. Checkpoints and trims of the block maps, and several dies that program at once below them unless rows do.
//! An SLC cache with cache commands or copy-back.

pub mod amplification;
pub mod block_device;
mod blocks;
pub mod causes;
mod commands;
mod config;
pub mod counting;
pub mod faults;
pub mod flash;
pub mod flashbench;
pub mod formulas;
mod hybrid;
mod layer;
pub mod mapping;
mod page_map;
mod slc_cache;
mod statistics;
mod tag;
pub mod victim;
mod write_buffer;

pub use block_device::{BlockDevice, DeviceError, Disk};
pub use config::{FtlConfig, FtlError, SlcCacheConfig, FREE_BLOCKS_MIN};
pub use layer::Ftl;
pub use mapping::{Mapping, MAPPINGS};
pub use page_map::{PageMap, Recovered};
pub use statistics::{Statistics, COPIED_BACK_PAGES, NAMED};
pub use tag::COPY_BACKS_MAX;
pub use victim::Victim;
pub use write_buffer::BufferRule;
