//! Why FAT touches the flash. Those that FatFs has, too, have the names that `python/ffslab/foreign/fatfs/fatfs.c` gives them.

use ffslab_fs::causes;
use ffslab_sim::{Kind, Purpose, Reason, Sim};

/// A name, the size of a file, where it begins.
pub static ENTRY: Reason = Reason {
    name: "directory entry",
    sentence: "an entry of a directory: a name, the size of a file, where it begins",
    kind: Kind::Writing,
    purpose: Purpose::Cost,
};

/// The table of clusters.
pub static TABLE: Reason = Reason {
    name: "allocation table",
    sentence: "the table says which cluster comes next, and which are free",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// What stands before the table.
pub static VOLUME: Reason = Reason {
    name: "volume state",
    sentence: "the boot sector says whether the volume is in use, FSInfo of FAT32 how many clusters are free",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// The free clusters are counted.
pub static SPACE_COUNT: Reason = Reason {
    name: "free space count",
    sentence: "the whole table is read to count free clusters",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// Makes the reasons known to a machine.
pub(crate) fn register(sim: &Sim) {
    causes::register(sim);
    sim.register(&[&ENTRY, &TABLE, &VOLUME, &SPACE_COUNT]);
}
