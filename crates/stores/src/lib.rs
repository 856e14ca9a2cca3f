//! # stores: key-value stores of embedded programs, on a simulated medium
//!
//! **Role.** Calls the crates `sequential-storage`, `ekv` and `tickv`, unchanged, as firmware does. Each is a
//! [`ffslab_fs::KeyValueStore`] when it is mounted; each flash operation carries a cause ([`causes`]): that of the call, or what the
//! order of its operations says of what the store does in it.
//!
//! **Follows.** sequential-storage 8.0 (its map), ekv 1.0 with check sums, TicKV 2.0 of Tock. What they want from a driver are the
//! traits `NorFlash` of `embedded-storage-async`, `Flash` of ekv and `FlashController` of TicKV.
//!
//! **Leaves out.** NAND itself: none of them works with pages that are programmed once (a translation can make NOR of it). The queue of sequential-storage, transactions of several
//! keys of ekv, zeroisation and the asynchronous calls of TicKV. What the CPU computes in them takes no time.

pub mod causes;
mod config;
pub mod ekv;
mod flash;
pub mod sequential;
pub mod tickv;

pub use config::ConfigError;
pub use flash::is_blank;

use ffslab_fs::Errno;
use ffslab_mtd::MtdError;
use thiserror::Error;

/// Why there is no mounted store.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the partition holds no {name} that could be mounted")]
    NoStore { name: &'static str },
    #[error("{name} stops: {error}")]
    Stopped { name: &'static str, error: Errno },
    #[error(transparent)]
    Medium(#[from] MtdError),
}
