/* What Rust calls of littlefs (crates/littlefs/src/c.rs). Results below zero are errors of lfs.h, or FFSLAB_LFS_FAILED. */
#ifndef FFSLAB_LITTLEFS_H
#define FFSLAB_LITTLEFS_H

#include "paths.h"

/* Of this interface: a library of another one is not loaded. */
#define FFSLAB_LFS_ABI 2

/* An assertion of lfs.c does not hold. */
#define FFSLAB_LFS_FAILED (-1000)

struct ffslab_lfs;
struct ffslab_lfs_file;
struct ffslab_lfs_dir;

struct ffslab_lfs_config {
    uint32_t read_size_bytes;
    uint32_t prog_size_bytes;
    uint32_t block_size_bytes;
    uint32_t block_count;
    int32_t block_cycles;
    uint32_t cache_size_bytes;
    uint32_t lookahead_size_bytes;
    uint32_t compact_thresh_bytes;
    uint32_t name_max_bytes;
    uint32_t metadata_max_bytes;
    uint32_t inline_max_bytes;
    uint32_t disk_version;
};

/* Each operation is told its cause. */
struct ffslab_lfs_device {
    void *context;
    int32_t (*read)(void *context, uint32_t cause, uint32_t block, uint32_t off, void *buffer, uint32_t bytes);
    int32_t (*prog)(void *context, uint32_t cause, uint32_t block, uint32_t off, const void *buffer, uint32_t bytes);
    int32_t (*erase)(void *context, uint32_t cause, uint32_t block);
};

#endif
