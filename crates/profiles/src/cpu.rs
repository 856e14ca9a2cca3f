//! What the CPU's time is spent on: the tables `[vfs]`, `[cpu]` and `[tracers]` of a board profile.

use crate::constant::{ns_of_us, whole_ns, Amount, Sourced};
use ffslab_linux::VfsCosts;
use ffslab_lzo::Release;
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{CopiedNode, CpuCosts, MountingCosts, PowerMilliwatt, Work, WorkCost};
use schemars::JsonSchema;
use serde::Deserialize;

/// Costs of the system calls themselves, and of reading the clock.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VfsTable {
    /// The program reads the clock.
    clock_read_ns: Sourced<Amount>,
    /// A system call by itself.
    call_ns: Sourced<Amount>,
    /// What write(2) takes beside that and its pages.
    write_ns: Option<Sourced<Amount>>,
    /// Taking a page out of the page cache.
    page_drop_ns: Option<Sourced<Amount>>,
    /// What that takes more when the page's file is deleted or cut.
    page_delete_ns: Option<Sourced<Amount>>,
    /// `drop_caches` beside the pages that it drops.
    drop_caches_us: Option<Sourced<Amount>>,
    /// Making a file, beside what the file system does.
    create_us: Option<Sourced<Amount>>,
    /// The first file since a mount, beside that.
    first_create_us: Option<Sourced<Amount>>,
    /// An unmount until the tasks that wait get the CPU.
    unmount_us: Option<Sourced<Amount>>,
    /// Power of the CPU rail above idle while the CPU computes.
    #[serde(rename = "cpu_power_mW")]
    cpu_power_mw: Sourced<Amount>,
    /// Power of the memory rail above idle while the CPU computes. Absent: it is not known and counts as none.
    #[serde(rename = "memory_power_mW")]
    memory_power_mw: Option<Sourced<Amount>>,
}

impl VfsTable {
    pub(crate) fn costs(&self) -> VfsCosts {
        VfsCosts {
            clock_read_ns: self.clock_read_ns.value.0.round() as u64,
            call_ns: self.call_ns.value.0.round() as u64,
            write_ns: whole_ns(&self.write_ns),
            // The costs of copies are in the table `[cpu]` of the board.
            page_ns: 0,
            page_drop_ns: whole_ns(&self.page_drop_ns),
            page_delete_ns: whole_ns(&self.page_delete_ns),
            drop_caches_ns: ns_of_us(&self.drop_caches_us),
            create_ns: ns_of_us(&self.create_us),
            first_create_ns: ns_of_us(&self.first_create_us),
            unmount_ns: ns_of_us(&self.unmount_us),
            cpu_power: PowerMilliwatt {
                cpu: self.cpu_power_mw.value.0,
                memory: self.memory_power_mw.as_ref().map_or(0.0, |power| power.value.0),
            },
        }
    }
}

macro_rules! cost_table {
    ($($work:ident: $each:ident, $per_byte:ident $rename:literal, $about:literal;)+) => {
        /// Costs of the CPU's work. A key that is absent costs nothing.
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct CpuTable {
            /// Power of the CPU rail above idle while the CPU works.
            #[serde(rename = "cpu_power_mW")]
            cpu_power_mw: Sourced<Amount>,
            /// Power of the memory rail above idle while the CPU works.
            #[serde(rename = "memory_power_mW")]
            memory_power_mw: Sourced<Amount>,
            /// A tick of the timer.
            pub(crate) tick_us: Option<Sourced<Amount>>,
            /// From one task to another and back again, for an attempt to take a lock that is taken, where a kernel may take the CPU in the
            /// middle of a call.
            pub(crate) vain_turn_us: Option<Sourced<Amount>>,
            /// Before a node or chunk is read that garbage collection moves as it is: what decides how, and room for it.
            copied_node_before_us: Option<Sourced<Amount>>,
            /// Such a node, read or written. Absent: as much as other nodes, if the key before is absent, too.
            copied_node_us: Option<Sourced<Amount>>,
            /// The same for each of its bytes.
            #[serde(rename = "copied_node_ns_per_B")]
            copied_node_ns_per_byte: Option<Sourced<Amount>>,
            /// The summary at the end of an erase block, beside its pages.
            summary_us: Option<Sourced<Amount>>,
            /// A fragment of a file over which garbage collection walks.
            fragment_ns: Option<Sourced<Amount>>,
            /// A pass of garbage collection that finds nothing to do. Absent: as much as others.
            pass_in_vain_us: Option<Sourced<Amount>>,
            /// What a file system does before it lets a block be erased.
            before_erase_us: Option<Sourced<Amount>>,
            /// The header of an object beside the chunk that holds it.
            header_us: Option<Sourced<Amount>>,
            /// The prices of LZO's compression are those of release 2.02, and those of 2.06 so many times as much. Absent: they are those of
            /// the board's own kernel.
            lzo_2_06_times: Option<Sourced<Amount>>,
            /// UBI attaches: the CPU's part of an erase block, beside the reads of its headers.
            attach_block_us: Option<Sourced<Amount>>,
            /// UBIFS looks for nodes in a LEB that it has read, or for their end.
            #[serde(rename = "scan_ns_per_B")]
            scan_ns_per_byte: Option<Sourced<Amount>>,
            /// A mount of UBIFS enters a node of the journal in the index.
            replay_node_us: Option<Sourced<Amount>>,
            /// UBIFS unpacks a node of its tree of LEB properties.
            lpt_node_us: Option<Sourced<Amount>>,
            $(
                #[doc = $about]
                $each: Option<Sourced<Amount>>,
                #[doc = $about]
                #[serde(rename = $rename)]
                $per_byte: Option<Sourced<Amount>>,
            )+
        }

        impl CpuTable {
            /// What the CPU's work costs in a kernel with this release of LZO.
            pub(crate) fn costs(&self, lzo: Release) -> CpuCosts {
                let mut costs = CpuCosts::FREE;
                costs.power = PowerMilliwatt { cpu: self.cpu_power_mw.value.0, memory: self.memory_power_mw.value.0 };
                $(
                    let (each_ns, per_byte_ps) = (ns_of_us(&self.$each), ns_of_us(&self.$per_byte));
                    costs.of[Work::$work as usize] = WorkCost { each_ns, per_byte_ps };
                )+
                if let Some(times) = self.lzo_2_06_times.as_ref().filter(|_| lzo == Release::Lzo2_06) {
                    for work in [Work::LzoCompress, Work::LzoOutput] {
                        costs.of[work as usize] = costs.of[work as usize].times(times.value.0);
                    }
                }
                let copied = [&self.copied_node_before_us, &self.copied_node_us, &self.copied_node_ns_per_byte];
                if copied.iter().any(|amount| amount.is_some()) {
                    let [before_ns, each_ns, per_byte_ps] = copied.map(ns_of_us);
                    costs.copied_node = Some(CopiedNode { before_ns, each_way: WorkCost { each_ns, per_byte_ps } });
                }
                costs.summary_ns = ns_of_us(&self.summary_us);
                costs.fragment_ns = whole_ns(&self.fragment_ns);
                costs.pass_in_vain_ns = self.pass_in_vain_us.is_some().then(|| ns_of_us(&self.pass_in_vain_us));
                costs.before_erase_ns = ns_of_us(&self.before_erase_us);
                costs.header_ns = ns_of_us(&self.header_us);
                costs.mounting = MountingCosts {
                    attach_block_ns: ns_of_us(&self.attach_block_us),
                    scan_ps_per_byte: ns_of_us(&self.scan_ns_per_byte),
                    replay_node_ns: ns_of_us(&self.replay_node_us),
                    lpt_node_ns: ns_of_us(&self.lpt_node_us),
                    console_char_ns: 0,
                };
                costs
            }
        }
    };
}

cost_table! {
    PageWrite: page_write_us, page_write_ns_per_byte "page_write_ns_per_B",
        "A page that a write(2) touches; its bytes are copied from the program.";
    PageRead: page_read_us, page_read_ns_per_byte "page_read_ns_per_B",
        "A page that a read(2) touches; its bytes are copied to the program.";
    PageFill: page_fill_us, page_fill_ns_per_byte "page_fill_ns_per_B",
        "A page comes into the page cache.";
    PageActivate: page_activate_us, page_activate_ns_per_byte "page_activate_ns_per_B",
        "A page is used for the second time.";
    PageDirty: page_dirty_us, page_dirty_ns_per_byte "page_dirty_ns_per_B",
        "A clean page of the page cache becomes dirty.";
    InodeDirty: inode_dirty_us, inode_dirty_ns_per_byte "inode_dirty_ns_per_B",
        "An inode is marked as dirty: a file grows, or its time changes.";
    PageClear: page_clear_us, page_clear_ns_per_byte "page_clear_ns_per_B",
        "Bytes of a page are cleared because nothing is stored for them.";
    ReadAhead: read_ahead_us, read_ahead_ns_per_byte "read_ahead_ns_per_B",
        "The next window of read-ahead is computed.";
    ColdCache: cold_cache_us, cold_cache_ns_per_byte "cold_cache_ns_per_B",
        "A step of a write directly after work that has filled the CPU's caches.";
    NodeWrite: node_write_us, node_write_ns_per_byte "node_write_ns_per_B",
        "A node or chunk is assembled; its bytes are copied to the write buffer.";
    NodeRead: node_read_us, node_read_ns_per_byte "node_read_ns_per_B",
        "A node or chunk is fetched from the driver; its bytes are copied.";
    BufferFlush: buffer_flush_us, buffer_flush_ns_per_byte "buffer_flush_ns_per_B",
        "A page of a write buffer is passed to the driver.";
    Crc: crc_us, crc_ns_per_byte "crc_ns_per_B",
        "A check sum over so many bytes.";
    SoftwareEcc: software_ecc_us, software_ecc_ns_per_byte "software_ecc_ns_per_B",
        "ECC computed by the CPU over so many bytes.";
    LzoCompress: lzo_compress_us, lzo_compress_ns_per_byte "lzo_compress_ns_per_B",
        "LZO compresses so many bytes.";
    LzoOutput: lzo_output_us, lzo_output_ns_per_byte "lzo_output_ns_per_B",
        "Output of LZO compression.";
    ZlibCompress: zlib_compress_us, zlib_compress_ns_per_byte "zlib_compress_ns_per_B",
        "zlib compresses so many bytes.";
    RtimeCompress: rtime_compress_us, rtime_compress_ns_per_byte "rtime_compress_ns_per_B",
        "rtime compresses so many bytes.";
    ZstdCompress: zstd_compress_us, zstd_compress_ns_per_byte "zstd_compress_ns_per_B",
        "zstd compresses so many bytes.";
    LzoDecompress: lzo_decompress_us, lzo_decompress_ns_per_byte "lzo_decompress_ns_per_B",
        "LZO decompresses to so many bytes.";
    ZlibDecompress: zlib_decompress_us, zlib_decompress_ns_per_byte "zlib_decompress_ns_per_B",
        "zlib decompresses to so many bytes.";
    RtimeDecompress: rtime_decompress_us, rtime_decompress_ns_per_byte "rtime_decompress_ns_per_B",
        "rtime decompresses to so many bytes.";
    ZstdDecompress: zstd_decompress_us, zstd_decompress_ns_per_byte "zstd_decompress_ns_per_B",
        "zstd decompresses to so many bytes.";
    XzDecompress: xz_decompress_us, xz_decompress_ns_per_byte "xz_decompress_ns_per_B",
        "xz decompresses to so many bytes.";
    Lz4Decompress: lz4_decompress_us, lz4_decompress_ns_per_byte "lz4_decompress_ns_per_B",
        "LZ4 decompresses to so many bytes.";
    GcPass: gc_pass_us, gc_pass_ns_per_byte "gc_pass_ns_per_B",
        "A pass of garbage collection, without the nodes that it moves.";
    BlankCheck: blank_check_us, blank_check_ns_per_byte "blank_check_ns_per_B",
        "An erased page is compared with 0xFF.";
    ScanBlock: scan_block_us, scan_block_ns_per_byte "scan_block_ns_per_B",
        "An erase block that the mount examines, without the nodes in it.";
}

/// Costs of the tracers with which a board was measured. They count only if the stack says `traced = true`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TracerTable {
    /// A system call recorded by strace, or another tracer that stops the program at its entry and exit.
    call_us: Sourced<Amount>,
    /// A function recorded by a function tracer.
    function_us: Sourced<Amount>,
}

impl TracerTable {
    pub(crate) fn add_to(&self, costs: &mut CpuCosts) {
        for (work, amount) in [(Work::TracedCall, &self.call_us), (Work::TracedFunction, &self.function_us)] {
            costs.of[work as usize] = WorkCost { each_ns: us_to_ns(amount.value.0), per_byte_ps: 0 };
        }
    }
}
