//! The task of UBI, and why it uses the flash.

pub use ffslab_mtd::causes::*;
use ffslab_sim::{Kind, Purpose, Reason, Sim, Task};

/// The background thread: erases, wear levelling. Of the urgency of every kernel thread (drivers/mtd/ubi/build.c).
pub static UBI_THREAD: Task = Task { name: "ubi_thread", title: "UBI thread", nice: 0, process: "ubi_bgt0d" };

/// UBI looks at every erase block when it attaches.
pub static UBI_ATTACH: Reason = Reason {
    name: "UBI attach",
    sentence: "UBI looks at all erase blocks",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// Erase counters, volume identifiers, volume table.
pub static UBI_HEADER: Reason = Reason {
    name: "UBI header",
    sentence: "UBI writes erase counters, block identifiers and its volume table",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// UBI writes down which block holds what, for the next attach.
pub static FASTMAP: Reason = Reason {
    name: "UBI fastmap",
    sentence: "UBI writes its fastmap, by which the next attach is quick",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// UBI moves a logical erase block because of wear or bit flips.
pub static WEAR_LEVELLING: Reason = Reason {
    name: "wear levelling",
    sentence: "UBI moves data because of wear or bit flips",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// Makes the reasons known to a machine, before the first of them is given.
pub fn register(sim: &Sim) {
    ffslab_mtd::causes::register(sim);
    sim.register(&[&UBI_ATTACH, &UBI_HEADER, &WEAR_LEVELLING]);
}

/// With a fastmap there is one more.
pub fn register_fastmap(sim: &Sim) {
    sim.register(&[&FASTMAP]);
}
