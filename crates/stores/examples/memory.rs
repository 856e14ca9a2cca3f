//! The memory that each store takes: `cargo run -p ffslab-stores --example memory`, for a partition of 64 erase blocks of 4 KiB.

use ffslab_mtd::Capabilities;
use ffslab_stores::ekv::EkvConfig;
use ffslab_stores::sequential::{SequentialCache, SequentialConfig};
use ffslab_stores::tickv;

fn main() {
    let medium = Capabilities {
        blocks: 64,
        chip_blocks: 64,
        erase_block_bytes: 4 << 10,
        program_bytes: 1,
        partial_program_bytes: 1,
        write_buffer_bytes: 256,
        oob_bytes: 0,
        oob_free_bytes: 0,
        clears_bits_again: true,
        has_bad_blocks: false,
        torn_erase_may_keep_start: false,
        in_memory: false,
    };
    for cache in [
        SequentialCache::None,
        SequentialCache::PageStates,
        SequentialCache::PagePointers,
        SequentialCache::KeyPointers,
    ] {
        let config = SequentialConfig { cache, ..SequentialConfig::default() };
        println!("sequential-storage, cache {cache:?}: {} B", config.memory_bytes(&medium));
    }
    println!("ekv: {} B", EkvConfig::memory_bytes());
    println!("tickv: {} B", tickv::memory_bytes());
}
