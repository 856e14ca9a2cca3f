//! The configuration of littlefs (`struct lfs_config` of `lfs.h`) and what it demands of it (`lfs_init` of `lfs.c`).

use ffslab_mtd::Capabilities;
use thiserror::Error;

/// All sizes that a program gives littlefs. A value of 0 leaves a limit to littlefs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Smallest read; a multiple of it is read at once.
    pub read_size_bytes: u32,
    /// Smallest program.
    pub prog_size_bytes: u32,
    /// What littlefs erases at once: one or several erase blocks.
    pub block_size_bytes: u32,
    /// Erases after which the log of a directory moves to other blocks; -1: never.
    pub block_cycles: i32,
    /// Of the caches for reads and programs, and one more for each open file.
    pub cache_size_bytes: u32,
    /// Of the map of free blocks: a bit a block.
    pub lookahead_size_bytes: u32,
    /// From which length on `lfs_fs_gc` compacts logs; `u32::MAX`: never.
    pub compact_thresh_bytes: u32,
    /// Longest name.
    pub name_max_bytes: u32,
    /// Of a block how much the log of a directory may fill.
    pub metadata_max_bytes: u32,
    /// Largest file that stands in its directory; `u32::MAX`: none does.
    pub inline_max_bytes: u32,
    /// Of the format, as in 0x0002_0000; 0: the newest.
    pub disk_version: u32,
}

/// Why littlefs does not take a configuration: the key, its value, what is needed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key} = {value}: {needed}")]
pub struct ConfigError {
    pub key: &'static str,
    pub value: String,
    pub needed: String,
}

/// The newest format of littlefs 2.9.
pub const DISK_VERSION: u32 = 0x0002_0001;
/// The oldest format of littlefs 2.
pub const DISK_VERSION_MIN: u32 = 0x0002_0000;
/// `LFS_NAME_MAX`.
pub const NAME_BYTES_MAX: u32 = 255;
/// `LFS_FILE_MAX`.
pub const FILE_BYTES_MAX: u64 = i32::MAX as u64;
const ATTR_BYTES_MAX: u32 = 1022;
const BLOCK_BYTES_MIN: u32 = 128;

impl Config {
    /// The sizes that a port for such a medium would take: of the ESP-IDF component `esp_littlefs` where bytes can be programmed
    /// (Kconfig: reads and programs of 128 bytes, a cache of 512), pages where it has pages; 128 bytes of lookahead and 512 cycles
    /// on both.
    pub fn usual(can: &Capabilities) -> Config {
        let unit_bytes = can.program_bytes.max(128);
        Config {
            read_size_bytes: unit_bytes,
            prog_size_bytes: unit_bytes,
            block_size_bytes: can.erase_block_bytes,
            block_cycles: 512,
            cache_size_bytes: unit_bytes.max(512),
            lookahead_size_bytes: 128,
            compact_thresh_bytes: 0,
            name_max_bytes: 0,
            metadata_max_bytes: 0,
            inline_max_bytes: 0,
            disk_version: 0,
        }
    }

    /// Blocks of a medium.
    pub fn blocks(&self, can: &Capabilities) -> u32 {
        can.blocks / (self.block_size_bytes / can.erase_block_bytes).max(1)
    }

    /// Memory that it keeps: caches and lookahead, and a cache for each file that is open.
    pub fn memory_bytes(&self, open_files: u32) -> u64 {
        u64::from(self.cache_size_bytes) * (2 + u64::from(open_files)) + u64::from(self.lookahead_size_bytes)
    }

    /// # Errors
    /// The first value with which littlefs, or the medium, cannot work.
    pub fn check(&self, can: &Capabilities) -> Result<(), ConfigError> {
        self.check_sizes(can)?;
        self.check_limits()?;
        let blocks = self.blocks(can);
        demand(blocks >= 2, "partition_blocks", can.blocks, || {
            format!("littlefs needs two blocks of {} bytes at least", self.block_size_bytes)
        })
    }

    fn check_sizes(&self, can: &Capabilities) -> Result<(), ConfigError> {
        let (block, cache) = (self.block_size_bytes, self.cache_size_bytes);
        demand(self.read_size_bytes > 0, "read_size_B", self.read_size_bytes, || "at least 1 is needed".to_string())?;
        let prog = self.prog_size_bytes;
        demand(prog > 0 && prog.is_multiple_of(can.program_bytes), "prog_size_B", prog, || {
            format!("a multiple of {} bytes is needed, which the medium programs at once", can.program_bytes)
        })?;
        for (key, unit) in [("read_size_B", self.read_size_bytes), ("prog_size_B", prog)] {
            demand(cache > 0 && cache.is_multiple_of(unit), "cache_size_B", cache, || {
                format!("a multiple of {key} = {unit} is needed")
            })?;
        }
        let whole = block >= BLOCK_BYTES_MIN && block.is_multiple_of(can.erase_block_bytes);
        demand(whole, "block_size_B", block, || {
            let least = can.erase_block_bytes;
            format!("a multiple of the {least} bytes that the medium erases is needed, and {BLOCK_BYTES_MIN} bytes at least")
        })?;
        demand(block.is_multiple_of(cache), "cache_size_B", cache, || {
            format!("it must divide block_size_B = {block}")
        })?;
        demand(self.lookahead_size_bytes > 0, "lookahead_size_B", self.lookahead_size_bytes, || {
            "at least 1 is needed: each byte tells of 8 blocks".to_string()
        })
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        let block = self.block_size_bytes;
        let cycles = self.block_cycles;
        demand(cycles > 0 || cycles == -1, "block_cycles", cycles, || {
            "100 to 1000 is usual, -1 moves nothing".to_string()
        })?;
        let compact = self.compact_thresh_bytes;
        let in_block = compact == 0 || compact == u32::MAX || (block / 2..=block).contains(&compact);
        demand(in_block, "compact_thresh_B", compact, || format!("{} to {block} makes sense", block / 2))?;
        demand(self.name_max_bytes <= NAME_BYTES_MAX, "name_max_B", self.name_max_bytes, || {
            format!("at most {NAME_BYTES_MAX}")
        })?;
        let metadata = self.metadata_max_bytes;
        // A log is compacted into half of what it may fill, in whole programs; with less littlefs never ends.
        let least = self.prog_size_bytes.saturating_mul(4).max(BLOCK_BYTES_MIN).min(block);
        demand(metadata == 0 || (least..=block).contains(&metadata), "metadata_max_B", metadata, || {
            format!("{least} to block_size_B = {block} makes sense")
        })?;
        let of_block = if metadata > 0 { metadata } else { block };
        let most = self.cache_size_bytes.min(ATTR_BYTES_MAX).min(of_block / 8);
        let inline = self.inline_max_bytes;
        demand(inline == u32::MAX || inline <= most, "inline_max_B", inline, || {
            format!("at most {most} with these sizes; -1 keeps all files out of their directories")
        })?;
        let version = self.disk_version;
        demand(version == 0 || (DISK_VERSION_MIN..=DISK_VERSION).contains(&version), "disk_version", version, || {
            "2.0 and 2.1 are known".to_string()
        })
    }
}

fn demand(
    holds: bool,
    key: &'static str,
    value: impl Into<i64>,
    needed: impl FnOnce() -> String,
) -> Result<(), ConfigError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigError { key, value: value.into().to_string(), needed: needed() })
    }
}
