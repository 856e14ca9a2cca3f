//! Why a store of keys and values touches the flash.

use ffslab_fs::causes;
use ffslab_sim::{Kind, Purpose, Reason, Sim};

/// A value is written.
pub static SET: Reason = Reason {
    name: "set",
    sentence: "a value that the program sets is written",
    kind: Kind::Writing,
    purpose: Purpose::Write,
};

/// A value is read.
pub static GET: Reason = Reason {
    name: "get",
    sentence: "the value of a key is looked for and read",
    kind: Kind::Reading,
    purpose: Purpose::Read,
};

/// All keys are read.
pub static ITERATE: Reason =
    Reason { name: "iterate", sentence: "all keys and values are read", kind: Kind::Reading, purpose: Purpose::Read };

/// Before something is written the place for it, and what the key had before, is looked for.
pub static SEARCH: Reason = Reason {
    name: "key search",
    sentence: "before a value is written or deleted, room for it and what the key had before are looked for",
    kind: Kind::Reading,
    purpose: Purpose::Cost,
};

/// A key is forgotten, or its former value.
pub static DELETION: Reason = Reason {
    name: "deletion",
    sentence: "a value that is deleted or was replaced is marked",
    kind: Kind::Writing,
    purpose: Purpose::Cost,
};

/// What was written becomes valid.
pub static COMMIT: Reason = Reason {
    name: "commit",
    sentence: "what was written becomes valid: an entry is added to the list of files",
    kind: Kind::Writing,
    purpose: Purpose::Cost,
};

/// The store takes its next page.
pub static MIGRATION: Reason = Reason {
    name: "page migration",
    sentence: "the next page is taken: what is still wanted of the oldest one is copied, and it is erased",
    kind: Kind::Collecting,
    purpose: Purpose::Cost,
};

/// Sorted files are merged.
pub static COMPACTION: Reason = Reason {
    name: "compaction",
    sentence: "sorted files are merged into one, without what is out of date",
    kind: Kind::Collecting,
    purpose: Purpose::Cost,
};

/// Pages of which nothing is wanted any more are looked for and erased.
pub static COLLECTION: Reason = Reason {
    name: "gc of regions",
    sentence: "regions in which all was deleted are looked for and erased",
    kind: Kind::Collecting,
    purpose: Purpose::Cost,
};

/// What a power cut left half done.
pub static REPAIR: Reason = Reason {
    name: "repair",
    sentence: "what an interrupted change left behind is put in order",
    kind: Kind::Recovering,
    purpose: Purpose::Cost,
};

/// Makes the reasons known to a machine.
pub(crate) fn register(sim: &Sim) {
    causes::register(sim);
    sim.register(&[
        &causes::FORMATTING,
        &SET,
        &GET,
        &ITERATE,
        &SEARCH,
        &DELETION,
        &COMMIT,
        &MIGRATION,
        &COMPACTION,
        &COLLECTION,
        &REPAIR,
    ]);
}
