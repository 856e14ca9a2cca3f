//! Kernels: what their age decides.

mod keys;
mod table;
mod version;

pub use keys::{
    ErofsRules, FlashRules, FsRules, KernelProfile, MlcRules, OverlayfsRules, ReserveOf, SpiNandRules, SquashfsRules,
    Yaffs2Version, KERNEL_DEFAULT,
};
pub use table::{kernel_note, KernelFault};

pub(crate) use table::{FILE, LINUX};

#[cfg(test)]
mod tests;
