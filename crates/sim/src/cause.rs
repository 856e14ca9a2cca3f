//! Causes: every flash operation is counted by who issued it (task) and why (reason), so that a report can
//! explain a number.

use std::ops::{Add, Sub};

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

pub(crate) use named_enum;

named_enum! {
    /// Who issues flash operations. The names are those of the measured cases (`by_task`).
    Task {
        /// The program, inside its system calls.
        Caller = "caller",
        /// JFFS2's garbage collection thread.
        Jffs2GcThread = "jffs2_gc_thread",
        /// UBI's background thread: erases, wear levelling.
        UbiThread = "ubi_thread",
        /// UBIFS's background commit.
        UbifsThread = "ubifs_thread",
        /// YAFFS2's background garbage collection.
        YaffsThread = "yaffs_thread",
        /// Kernel workers of a file system: JFFS2's write-buffer timer.
        Kworker = "kworker",
        /// Write-back of dirty pages and inodes: a kernel worker too, with a turn of its own.
        Flusher = "flusher",
        /// RTEMS: the task that writes modified block buffers, and its workers.
        BdbufSwapout = "bdbuf_swapout",
        /// RTEMS: the task that reads blocks ahead.
        BdbufReadAhead = "bdbuf_read_ahead",
    }
}

named_enum! {
    /// Why a flash operation happens.
    Reason {
        /// A program asked for these data.
        Read = "read",
        /// The kernel reads ahead of the program.
        ReadAhead = "read-ahead",
        /// A page is read so that a part of it can be overwritten.
        ReadModifyWrite = "read-modify-write",
        /// An inode comes into memory: its nodes' headers are read.
        InodeRead = "inode read",
        /// A name is looked for in a directory, or its names are listed.
        NameLookup = "name look-up",
        /// Mount.
        MountScan = "mount scan",
        /// User data.
        Data = "user data",
        /// Inodes, directory entries, headers.
        Metadata = "metadata",
        /// A partly filled page had to be written out.
        Padding = "padding",
        /// A program asked for its data to be safe now.
        Sync = "sync",
        /// Garbage collection moves live data.
        GcCopy = "gc copy",
        /// Garbage collection looks for nodes that it need not move.
        GcLookup = "gc look-up",
        /// Erasing.
        Erase = "erase",
        /// Reading back what was erased.
        EraseCheck = "erase read-back",
        /// Marking an erased block as clean.
        CleanMarker = "clean marker",
        /// Checking nodes after mount.
        Check = "checking",
        /// Erase block summaries, checkpoints, indices.
        Summary = "summary",
        /// Dealing with failed programs and erases.
        Recovery = "recovery",
        /// UBI looks at every erase block when it attaches.
        UbiAttach = "UBI attach",
        /// UBI's erase counters, volume identifiers and volume table.
        UbiHeader = "UBI header",
        /// UBI moves a logical erase block because of wear or bit flips.
        WearLevelling = "wear levelling",
        /// Data that the setup of an experiment had left in memory are written while something else is measured. This
        /// reason takes precedence over every other one, see [`crate::Sim::because`].
        LeftBySetup = "left by the setup",
        /// A new partition is made usable, once: blank blocks are erased and marked, UBI's volume table and UBIFS's first
        /// nodes are written. No wear and no cost of what programs do.
        Formatting = "formatting",
        /// None of the above.
        Other = "other",
    }
}

/// Number of (task, reason) pairs.
pub const CAUSES: usize = Task::ALL.len() * Reason::ALL.len();

/// Position of a cause in [`crate::Sim::all_counts`].
#[inline]
pub const fn index(task: Task, reason: Reason) -> usize {
    task as usize * Reason::ALL.len() + reason as usize
}

/// What the chip is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Cells to register, the whole page moved out. Address: page in the chip.
    PageRead,
    /// Cells to register, a part of the page moved out.
    PartialPageRead,
    /// Out-of-band area only.
    OobRead,
    /// First program of a page's data area since its erase.
    PageProgram,
    /// A further program of a page's data area.
    Reprogram,
    /// Out-of-band area only.
    OobProgram,
    /// Address: block in the chip.
    Erase,
}

/// One flash operation, as an [`crate::EventSink`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct OpEvent {
    pub at_ns: u64,
    pub busy_ns: u64,
    pub op: Op,
    /// Page in the chip, or block in the chip for an erase.
    pub address: u32,
    pub task: Task,
    pub reason: Reason,
}

/// The cost of a cause: numbers of operations, bytes on the bus, time. The names are those of the measured cases:
/// `page_reads` includes `partial_page_reads`, `page_programs` includes `reprograms`. The three times do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpCounts {
    pub page_reads: u64,
    pub partial_page_reads: u64,
    pub oob_reads: u64,
    pub page_programs: u64,
    pub reprograms: u64,
    pub oob_programs: u64,
    pub erases: u64,
    pub bus_out_bytes: u64,
    pub bus_in_bytes: u64,
    /// Time of the chip: array and bus.
    pub busy_ns: u64,
    /// Time of the NAND driver, beyond the chip's time.
    pub driver_ns: u64,
    /// Computing time: system calls and the file system.
    pub cpu_ns: u64,
}

impl OpCounts {
    #[inline]
    pub fn add(&mut self, op: Op, bus_out_bytes: u32, bus_in_bytes: u32, busy_ns: u64) {
        match op {
            Op::PageRead => self.page_reads += 1,
            Op::PartialPageRead => {
                self.page_reads += 1;
                self.partial_page_reads += 1;
            }
            Op::OobRead => self.oob_reads += 1,
            Op::PageProgram => self.page_programs += 1,
            Op::Reprogram => {
                self.page_programs += 1;
                self.reprograms += 1;
            }
            Op::OobProgram => self.oob_programs += 1,
            Op::Erase => self.erases += 1,
        }
        self.bus_out_bytes += u64::from(bus_out_bytes);
        self.bus_in_bytes += u64::from(bus_in_bytes);
        self.busy_ns += busy_ns;
    }

    /// All operations of whatever kind.
    pub fn operations(&self) -> u64 {
        self.page_reads + self.oob_reads + self.page_programs + self.oob_programs + self.erases
    }

    /// Time spent, of whatever kind.
    pub fn time_ns(&self) -> u64 {
        self.busy_ns + self.driver_ns + self.cpu_ns
    }

    fn zip(self, other: OpCounts, f: impl Fn(u64, u64) -> u64) -> OpCounts {
        OpCounts {
            page_reads: f(self.page_reads, other.page_reads),
            partial_page_reads: f(self.partial_page_reads, other.partial_page_reads),
            oob_reads: f(self.oob_reads, other.oob_reads),
            page_programs: f(self.page_programs, other.page_programs),
            reprograms: f(self.reprograms, other.reprograms),
            oob_programs: f(self.oob_programs, other.oob_programs),
            erases: f(self.erases, other.erases),
            bus_out_bytes: f(self.bus_out_bytes, other.bus_out_bytes),
            bus_in_bytes: f(self.bus_in_bytes, other.bus_in_bytes),
            busy_ns: f(self.busy_ns, other.busy_ns),
            driver_ns: f(self.driver_ns, other.driver_ns),
            cpu_ns: f(self.cpu_ns, other.cpu_ns),
        }
    }
}

impl Add for OpCounts {
    type Output = OpCounts;
    fn add(self, other: OpCounts) -> OpCounts {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for OpCounts {
    type Output = OpCounts;
    fn sub(self, other: OpCounts) -> OpCounts {
        self.zip(other, |a, b| a - b)
    }
}
