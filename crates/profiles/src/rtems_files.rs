//! The files of boards with RTEMS and of block devices: their keys, and the numbers that they say.

use crate::cards::{CardProfile, CardTable};
use crate::constant::{Amount, Picoseconds, Sourced, Whole};
use ffslab_block::DeviceProfile;
use ffslab_rtems::cpu::CpuCosts;
use ffslab_sim::units::us_to_ns;
use schemars::JsonSchema;
use serde::Deserialize;

macro_rules! board_file {
    ($($field:ident: $kind:ident $key:literal, $about:literal;)+) => {
        /// A board with RTEMS: what its code costs.
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct BoardFile {
            /// What people read of it.
            title: String,
            /// Name or file of the board that says what this file does not.
            #[serde(rename = "base")]
            _base: Option<String>,
            /// How many times as long as on the base the CPU computes: multiplies all times that come from there but those of
            /// memory.
            #[serde(rename = "cpu_time_scale")]
            _cpu_time_scale: Option<Sourced<Amount>>,
            $(#[doc = $about] #[serde(rename = $key)] $field: Sourced<$kind>,)+
        }

        impl BoardFile {
            pub fn costs(self) -> CpuCosts {
                CpuCosts { title: self.title, $($field: self.$field.value.0,)+ }
            }
        }
    };
}

board_file! {
    line_bytes: Whole "line_B", "Bytes of a line of the CPU's caches.";
    l1_kib: Whole "l1_KiB", "First-level cache of data.";
    l1_ways_count: Whole "l1_ways", "Ways of the first-level cache.";
    l2_kib: Whole "l2_KiB", "Second-level cache.";
    l2_ways_count: Whole "l2_ways", "Ways of the second-level cache.";
    copy_ps_per_byte: Picoseconds "copy_ns_per_B", "A byte is copied within the first-level cache.";
    l2_read_ps: Picoseconds "l2_read_ns", "A line is read from the second-level cache.";
    memory_read_ps: Picoseconds "memory_read_ns", "A line is read from memory.";
    memory_write_ps: Picoseconds "memory_write_ns", "A line is written to memory.";
    call_ps: Picoseconds "call_ns", "A system call: descriptor, reference count, handler.";
    vector_ps: Picoseconds "vector_ns", "A vector of readv(2) or writev(2).";
    path_component_ps: Picoseconds "path_component_ns", "A component of a path is evaluated.";
    clock_read_ps: Picoseconds "clock_read_ns", "The program reads the clock.";
    fio_request_ps: Picoseconds "fio_request_ns", "What fio computes for a request.";
    lock_ps: Picoseconds "lock_ns", "A mutex is obtained and released.";
    context_switch_ps: Picoseconds "context_switch_ns", "Another task is dispatched.";
    bdbuf_call_ps: Picoseconds "bdbuf_call_ns", "A call of the block cache, beside its lock.";
    tree_level_ps: Picoseconds "tree_level_ns", "A level of the tree of cached blocks.";
    rfs_block_ps: Picoseconds "rfs_block_ns", "RFS handles a block.";
    dosfs_sector_ps: Picoseconds "dosfs_sector_ns", "DOSFS handles a sector.";
    imfs_block_ps: Picoseconds "imfs_block_ns", "IMFS handles a memory block.";
    imfs_table_ps: Picoseconds "imfs_table_ns", "IMFS goes through a table of blocks.";
    allocate_ps: Picoseconds "allocate_ns", "Memory is allocated or freed.";
    jffs2_node_ps: Picoseconds "jffs2_node_ns", "JFFS2 makes or looks up a node.";
    yaffs2_chunk_ps: Picoseconds "yaffs2_chunk_ns", "YAFFS2 makes or looks up a chunk.";
    crc_ps_per_byte: Picoseconds "crc_ns_per_B", "A check sum over so many bytes.";
    deflate_ps_per_byte: Picoseconds "deflate_ns_per_B", "zlib compresses so many bytes.";
    inflate_ps_per_byte: Picoseconds "inflate_ns_per_B", "zlib decompresses to so many bytes.";
    rtime_ps_per_byte: Picoseconds "rtime_ns_per_B", "rtime compresses or decompresses so many bytes.";
}

/// A block device: what its requests cost.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceFile {
    /// What people read of it.
    title: String,
    /// Name or file of the device that says what this file does not.
    #[serde(rename = "base")]
    _base: Option<String>,
    /// What the driver's task takes for a request.
    request_us: Sourced<Amount>,
    /// Command, answer and interrupt.
    command_us: Sourced<Amount>,
    /// From the command of a read to its first byte.
    read_access_us: Sourced<Amount>,
    /// How long the device is busy after the last byte of a write.
    write_busy_us: Sourced<Amount>,
    /// A byte that is read.
    #[serde(rename = "read_ns_per_B")]
    read_ns_per_byte: Sourced<Amount>,
    /// A byte that is written.
    #[serde(rename = "write_ns_per_B")]
    write_ns_per_byte: Sourced<Amount>,
    /// Whether the CPU moves the bytes, as of a RAM disk.
    occupies_cpu: Sourced<bool>,
    /// Whether requests of several blocks must name consecutive ones.
    consecutive_blocks: Sourced<bool>,
    /// What stands inside it: flash behind a translation layer. Without it the costs above are all.
    ftl: Option<CardTable>,
}

impl DeviceFile {
    /// What its requests cost, and what stands inside it.
    pub fn device(self) -> (DeviceProfile, Option<CardProfile>) {
        let ns = |us: &Sourced<Amount>| us_to_ns(us.value.0);
        // The factor from ns to ps is the same as that from us to ns.
        let ps = ns;
        let card = self.ftl.map(CardTable::card);
        let segments = card.as_ref();
        let profile = DeviceProfile {
            title: self.title,
            request_ns: ns(&self.request_us),
            command_ns: ns(&self.command_us),
            read_access_ns: ns(&self.read_access_us),
            write_busy_ns: ns(&self.write_busy_us),
            read_ps_per_byte: ps(&self.read_ns_per_byte),
            write_ps_per_byte: ps(&self.write_ns_per_byte),
            occupies_cpu: self.occupies_cpu.value,
            consecutive_blocks: self.consecutive_blocks.value,
            segment_bytes: segments.map_or(0, |card| card.segment_bytes),
            read_segment_ns: segments.map_or(0, |card| card.read_segment_ns),
            write_segment_ns: segments.map_or(0, |card| card.write_segment_ns),
        };
        (profile, card)
    }
}
