//! The CPU's work beside driving the chip: the kinds of work, the cost of each on a board, and how much was done.
//!
//! A layer states what it did (`sim.work(Work::Crc, bytes)`) and not how long that takes: costs belong to the board, so
//! one set of constants serves every workload. A board without costs spends nothing and counts nothing.

use crate::energy::PowerMilliwatt;

macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }
    };
}

named_enum! {
    /// A kind of work. Its cost has a part for each time that it is done, and a part for each byte.
    Work {
        /// A page that a write(2) touches: getting it, entering and leaving the file system, time stamps; bytes are
        /// copied from the program.
        PageWrite = "page_write",
        /// A page that a read(2) touches: looking it up in the page cache; bytes are copied to the program.
        PageRead = "page_read",
        /// A page comes into the page cache: memory for it, its place in the cache and on the lists.
        PageFill = "page_fill",
        /// A page that is used for the second time moves to the list of active pages (`activate_page` of `mm/swap.c`).
        PageActivate = "page_activate",
        /// A clean page of the page cache becomes dirty: the file system's reserve for it, its mark and the counters
        /// (`ubifs_budget_space`, `__folio_mark_dirty` of `mm/page-writeback.c`).
        PageDirty = "page_dirty",
        /// An inode is marked as dirty, also one that is: a file grows, or its time changes (`__mark_inode_dirty` of
        /// `fs/fs-writeback.c`).
        InodeDirty = "inode_dirty",
        /// Bytes of a page are cleared because nothing is stored for them.
        PageClear = "page_clear",
        /// A read finds a missing or marked page, and the next window of read-ahead is computed.
        ReadAhead = "read_ahead",
        /// A step of a write (finding a page, making a new one) directly after work that has filled the CPU's caches
        /// with its own tables ([`Work::fills_caches`]).
        ColdCache = "cold_cache",
        /// A node, or a chunk with its tags, is assembled, gets a place and is entered in the lists; its bytes are
        /// copied to the write buffer.
        NodeWrite = "node_write",
        /// A node, or a chunk with its tags, is fetched from the driver; its bytes are copied from the driver's buffer.
        NodeRead = "node_read",
        /// A page of a write buffer is passed to the driver, and what waited for it is entered in the lists.
        BufferFlush = "buffer_flush",
        /// A check sum over so many bytes.
        Crc = "crc",
        /// ECC computed by the CPU over so many bytes.
        SoftwareEcc = "software_ecc",
        /// Compression: bytes of the input, whether it becomes shorter or not.
        LzoCompress = "lzo_compress",
        /// Output of LZO compression, in bytes. Long matches cost nearly nothing, literals do.
        LzoOutput = "lzo_output",
        ZlibCompress = "zlib_compress",
        RtimeCompress = "rtime_compress",
        ZstdCompress = "zstd_compress",
        /// Decompression: bytes of the output.
        LzoDecompress = "lzo_decompress",
        ZlibDecompress = "zlib_decompress",
        RtimeDecompress = "rtime_decompress",
        ZstdDecompress = "zstd_decompress",
        XzDecompress = "xz_decompress",
        Lz4Decompress = "lz4_decompress",
        /// A pass of garbage collection, without the nodes that it moves.
        GcPass = "gc_pass",
        /// A page is compared with 0xFF, or with what was to be written to it, over so many bytes.
        BlankCheck = "blank_check",
        /// An erase block that the mount examines, without the nodes found in it.
        ScanBlock = "scan_block",
        /// A tracer stops the program at entry and exit of a system call (strace).
        TracedCall = "traced_call",
        /// A function tracer records entry and exit of a function.
        TracedFunction = "traced_function",
    }
}

impl Work {
    /// Whether this work leaves hardly anything else in the caches of a small CPU: deflate's window, hash chains and
    /// trees are 256 KiB (`zlib_deflate_workspacesize`), as much as the second-level cache of a Cortex-A8.
    pub fn fills_caches(self) -> bool {
        self == Work::ZlibCompress
    }
}

/// Number of kinds of work.
pub const WORKS: usize = Work::ALL.len();

/// What a kind of work costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCost {
    /// Cost of each time that it is done.
    pub each_ns: u64,
    pub per_byte_ps: u64,
}

impl WorkCost {
    /// The same work so many times as dear.
    pub fn times(self, factor: f64) -> WorkCost {
        let times = |amount: u64| (amount as f64 * factor).round() as u64;
        WorkCost { each_ns: times(self.each_ns), per_byte_ps: times(self.per_byte_ps) }
    }

    #[inline]
    pub(crate) fn ns(self, bytes: usize) -> u64 {
        self.each_ns + self.per_byte_ps * bytes as u64 / 1_000
    }
}

/// What work costs on a board, and the power above idle that the CPU draws while it works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuCosts {
    pub of: [WorkCost; WORKS],
    pub power: PowerMilliwatt,
    /// What a node costs that is moved as it is; `None`: as much as other nodes.
    pub copied_node: Option<CopiedNode>,
    /// What the summary at the end of an erase block costs.
    pub summary_ns: u64,
    /// What a pass of garbage collection costs that finds nothing to do; `None`: as much as others.
    pub pass_in_vain_ns: Option<u64>,
    /// What each fragment of a file costs over which garbage collection walks to find those of a node.
    pub fragment_ns: u64,
    /// What a file system does before it lets the driver erase a block: what stood for its nodes goes.
    pub before_erase_ns: u64,
    /// What the header of an object costs beside the chunk that holds it.
    pub header_ns: u64,
    pub mounting: MountingCosts,
}

/// What attaching and mounting cost beside the reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountingCosts {
    /// An erase block whose headers UBI examines.
    pub attach_block_ns: u64,
    /// A byte of a LEB in which UBIFS looks for nodes, or for the end of them.
    pub scan_ps_per_byte: u64,
    /// A node of UBIFS's journal that is entered in the index.
    pub replay_node_ns: u64,
    /// A node of the tree of LEB properties that is unpacked.
    pub lpt_node_ns: u64,
    /// A character that the kernel prints on its console, for which it waits.
    pub console_char_ns: u64,
}

/// What a node costs that garbage collection moves as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedNode {
    /// Before it is read: what decides how it is moved, and room for it.
    pub before_ns: u64,
    /// Between, once for the node that is read and once for the node that is written.
    pub each_way: WorkCost,
}

impl CpuCosts {
    /// Work takes no time, as on the reference machines whose counts are compared.
    pub const FREE: CpuCosts = CpuCosts {
        of: [WorkCost { each_ns: 0, per_byte_ps: 0 }; WORKS],
        power: PowerMilliwatt { cpu: 0.0, memory: 0.0 },
        copied_node: None,
        summary_ns: 0,
        pass_in_vain_ns: None,
        fragment_ns: 0,
        before_erase_ns: 0,
        header_ns: 0,
        mounting: MountingCosts {
            attach_block_ns: 0,
            scan_ps_per_byte: 0,
            replay_node_ns: 0,
            lpt_node_ns: 0,
            console_char_ns: 0,
        },
    };

    pub fn is_free(&self) -> bool {
        self.of.iter().all(|cost| *cost == WorkCost::default())
    }

    /// How long `work` on `bytes` takes.
    #[inline]
    pub fn ns(&self, work: Work, bytes: usize) -> u64 {
        self.of[work as usize].ns(bytes)
    }
}

/// How much of a kind of work was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkDone {
    pub count: u64,
    pub bytes: u64,
}

named_enum! {
    /// Functions of a file system whose durations a function tracer records.
    Function {
        WriteBegin = "write_begin",
        WriteEnd = "write_end",
        ReadPage = "readpage",
    }
}

/// How often a function ran, and how long in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionTime {
    pub calls: u64,
    pub total_ns: u64,
}
