//! Why flash operations happen below every file system: reasons that belong to the medium.

use ffslab_sim::{Kind, Purpose, Reason, Sim};
pub use ffslab_sim::{CALLER, FORMATTING, LEFT_BY_SETUP, OTHER};

/// Erasing.
pub static ERASE: Reason =
    Reason { name: "erase", sentence: "blocks are erased", kind: Kind::Erasing, purpose: Purpose::Cost };

/// Reading back what was erased.
pub static ERASE_CHECK: Reason = Reason {
    name: "erase read-back",
    sentence: "each erased block is read to see that it is empty",
    kind: Kind::Erasing,
    purpose: Purpose::Cost,
};

/// Dealing with failed programs and erases.
pub static RECOVERY: Reason = Reason {
    name: "recovery",
    sentence: "failed programs and erases are dealt with",
    kind: Kind::Recovering,
    purpose: Purpose::Cost,
};

/// Looking for bits that went wrong.
pub static SCRUB: Reason = Reason {
    name: "scrub read",
    sentence: "all of the partition is read in search of wrong bits",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// What a boot loader loads from pages or volumes.
pub static BOOT_LOADER: Reason = Reason {
    name: "boot loader",
    sentence: "a boot loader reads what it starts, and its environment",
    kind: Kind::Reading,
    purpose: Purpose::Read,
};

/// Makes the reasons known to a machine, before the first of them is given.
pub fn register(sim: &Sim) {
    sim.register(&[&ERASE, &ERASE_CHECK, &RECOVERY, &SCRUB, &BOOT_LOADER]);
}
