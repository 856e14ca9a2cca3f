//! What an answer must say when a bug of 2018 has cost data, as it did on real systems. The crate's README lists them all.

/// As the first sentence of each: what there is instead.
macro_rules! lost {
    ($what:literal) => {
        concat!("RFS of RTEMS 2018 has ", $what, ", as the real one does; with quirks = \"fixed\" it does not")
    };
}

pub(super) const CUT: &str =
    lost!("shortened a file (writing less than a block into a full last block makes it end there)");
pub(super) const NOT_KEPT: &str =
    lost!("not kept what was written to a block (two had it in hand, and who let go of it last had not changed it)");
pub(super) const NOT_READ: &str =
    lost!("filled the last block of a file that grew with zeros without reading what it held");
pub(super) const UNLINKED: &str = lost!("given away the blocks of a file that was unlinked while it was open");
