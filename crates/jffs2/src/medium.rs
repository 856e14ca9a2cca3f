//! What follows for JFFS2 from what the medium can do, as `fs/jffs2/os-linux.h` switches it.

use ffslab_mtd::Mtd;

/// How JFFS2 works on a medium.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Nodes are collected in a buffer and programmed by the page (`jffs2_is_writebuffered`); otherwise at once.
    pub buffers_pages: bool,
    /// The clean marker of a block stands in the out-of-band area (`jffs2_cleanmarker_oob`); otherwise it is the block's
    /// first node.
    pub marker_in_oob: bool,
    /// A superseded node is marked on the medium (`jffs2_can_mark_obsolete`).
    pub marks_obsolete: bool,
    /// What the mount scan, the check of a node's data and that of an erase look at is not read: it stands in the processor's
    /// memory (`mtd_point`).
    pub looks_in_memory: bool,
}

impl Manner {
    /// `summary`: the kernel was built with summaries. Then it marks nothing, whatever the medium could do.
    pub fn of(mtd: &Mtd, summary: bool) -> Manner {
        let can = mtd.capabilities();
        Manner {
            buffers_pages: can.program_bytes > 1,
            // A buffered page is programmed once, so the marker cannot stand in it.
            marker_in_oob: can.program_bytes > 1,
            marks_obsolete: can.clears_bits_again && !summary,
            looks_in_memory: can.in_memory,
        }
    }
}
