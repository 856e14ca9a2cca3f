//! # block: block devices as a driver sees them
//!
//! **Role.** A [`Device`] takes requests of media blocks, holds real bytes, and says how long a request takes: a RAM disk, a card or a
//! stick whose commands cost what a profile says ([`profile`]), or flash behind a translation layer ([`ftl`]), where
//! each page is read, programmed and erased on a chip. RTEMS's block cache stands above it, and so does a bare program.
//!
//! **Follows.** RTEMS's `ramdisk-driver.c` and rtems-libbsd's `mmcsd.c` for what a request is to a driver; `ffslab-ftl` for the flash.
//!
//! **Leaves out.** Queues of several requests. Below RTEMS a card does nothing while nobody asks it for anything.

pub mod device;
pub mod ftl;
pub mod profile;

pub use device::{Command, Device, DeviceError, Segment, Service, Told};
pub use ftl::FtlSettings;
pub use profile::DeviceProfile;
