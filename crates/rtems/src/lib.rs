//! # rtems: the storage stack of RTEMS
//!
//! **Role.** System calls with descriptors and paths ([`libio`]), the block device buffer cache ([`bdbuf`]), block devices
//! (`ffslab-block`), and the file systems IMFS and mini-IMFS ([`imfs`]), DOSFS ([`dosfs`]) and RFS ([`rfs`]);
//! JFFS2 on NOR flash ([`jffs2`]); what all of it costs the CPU ([`cpu`]). Devices hold
//! real bytes, file systems write their true on-disk formats, and every call into the cache and every request to a driver
//! is the one that the real code makes.
//!
//! **Follows.** RTEMS at commit cf811a4eb2 (9 July 2018): `cpukit/libblock`, `cpukit/libfs`, `cpukit/libcsupport`.
//!
//! **Leaves out.** More than one application task, partitions, users and permissions, device nodes other than block
//! devices, FIFOs.

pub mod bdbuf;
pub mod causes;
pub mod cpu;
pub mod dosfs;
pub mod faults;
pub mod imfs;
pub mod jffs2;
pub mod libio;
pub mod port;
pub mod raw;
pub mod rfs;
pub mod yaffs2;

/// What the code of 2018 does wrong; the README of the crate lists it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quirks {
    /// "2018": as RTEMS cf811a4eb2.
    #[default]
    Rtems2018,
    /// "fixed": as it was meant.
    Fixed,
}

impl std::str::FromStr for Quirks {
    type Err = UnknownQuirks;

    fn from_str(name: &str) -> Result<Quirks, UnknownQuirks> {
        match name {
            "2018" => Ok(Quirks::Rtems2018),
            "fixed" => Ok(Quirks::Fixed),
            _ => Err(UnknownQuirks { name: name.to_string() }),
        }
    }
}

/// A word that is none of the [`Quirks`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown quirks '{name}'; there are: 2018, fixed")]
pub struct UnknownQuirks {
    pub name: String,
}
