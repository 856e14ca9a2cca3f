/* littlefs on a chip of libffslab: the device functions of struct lfs_config.
 *
 *     struct lfs_config config = { .block_cycles = 512 };
 *     ffslab_lfs_config(&config, chip);
 *     lfs_mount(&lfs, &config);
 *
 * What a program failure, a failed erase, a bad block or an uncorrectable read is to littlefs: LFS_ERR_CORRUPT, upon which it takes
 * another block. Everything else is LFS_ERR_IO. For littlefs 2.x.
 *
 *     ffslab_callers(chip, FFSLAB_LFS_CALLERS);
 *
 * gives its operations the causes of docs/littlefs.md by the functions of lfs.c that are under way. */
#ifndef FFSLAB_LITTLEFS_H
#define FFSLAB_LITTLEFS_H

#include <ffslab.h>
#include <lfs.h>

/* In the order in which they count: what happens within a commit for a compaction is the compaction's. */
#define FFSLAB_LFS_CALLERS                                                                                                  \
    "lfs_alloc = allocation scan\nlfs_alloc_scan = allocation scan\n"                                                      \
    "lfs_format* = formatting\nlfs_rawformat = formatting\nlfs_mount* = mount scan\nlfs_rawmount = mount scan\n"            \
    "lfs_fs_size* = space count\nlfs_fs_rawsize = space count\n"                                                           \
    "lfs_fs_deorphan = repair\nlfs_fs_demove = repair\nlfs_fs_forceconsistency = repair\n"                                 \
    "lfs_file_relocate = relocation\nlfs_fs_relocate = relocation\nlfs_fs_parent = relocation\nlfs_fs_pred = relocation\n" \
    "lfs_dir_splittingcompact = compaction\nlfs_dir_compact = compaction\n"                                                \
    "lfs_file_outline = outlining\n"                                                                                       \
    "lfs_dir_orphaningcommit = commit\nlfs_dir_relocatingcommit = commit\nlfs_dir_commit = commit\nlfs_dir_alloc = commit\n" \
    "lfs_dir_find = name look-up\nlfs_stat* = name look-up\nlfs_rawstat = name look-up\n"                                  \
    "lfs_dir_open* = name look-up\nlfs_dir_rawopen = name look-up\nlfs_dir_read* = name look-up\nlfs_dir_rawread = name look-up\n" \
    "lfs_ctz_find = block list walk\nlfs_ctz_extend = new file block\n"                                                    \
    "lfs_file_flushedread = read\nlfs_file_flushedwrite = user data\nlfs_file_flush = user data\n"                         \
    "lfs_file_read* = read\nlfs_file_rawread = read\nlfs_file_write* = user data\nlfs_file_rawwrite = user data\n"         \
    "lfs_file_open* = file open\nlfs_file_rawopen* = file open\n"                                                          \
    "lfs_mkdir* = metadata\nlfs_rawmkdir = metadata\nlfs_remove* = metadata\nlfs_rawremove = metadata\n"                   \
    "lfs_rename* = metadata\nlfs_rawrename = metadata\nlfs_file_truncate* = metadata\nlfs_file_rawtruncate = metadata\n"   \
    "lfs_bd_* =\nlfs_cache_* =\n"

static inline int ffslab_lfs_answer(int code) {
    switch (code) {
    case FFSLAB_EPROGRAM: case FFSLAB_EERASE: case FFSLAB_EBAD: case FFSLAB_EECC: return LFS_ERR_CORRUPT;
    default: return code >= 0 ? 0 : LFS_ERR_IO;
    }
}

static inline ffslab_chip *ffslab_lfs_chip(const struct lfs_config *c) { return (ffslab_chip *)c->context; }

static inline int ffslab_lfs_read(const struct lfs_config *c, lfs_block_t block, lfs_off_t off, void *buffer, lfs_size_t size) {
    return ffslab_lfs_answer(ffslab_read(ffslab_lfs_chip(c), (uint64_t)block * c->block_size + off, buffer, size));
}

static inline int ffslab_lfs_prog(const struct lfs_config *c, lfs_block_t block, lfs_off_t off, const void *buffer, lfs_size_t size) {
    uint64_t at = (uint64_t)block * c->block_size + off;
    if (ffslab_is_bad(ffslab_lfs_chip(c), at) == 1) return LFS_ERR_CORRUPT;
    return ffslab_lfs_answer(ffslab_program(ffslab_lfs_chip(c), at, buffer, size));
}

static inline int ffslab_lfs_erase(const struct lfs_config *c, lfs_block_t block) {
    struct ffslab_geometry of;
    int code = ffslab_geometry(ffslab_lfs_chip(c), &of);
    uint64_t at = (uint64_t)block * c->block_size;
    /* A block of littlefs may be several erase blocks. */
    for (uint64_t end = at + c->block_size; code >= 0 && at < end; at += of.erase_block_B) {
        code = ffslab_erase(ffslab_lfs_chip(c), at);
    }
    return ffslab_lfs_answer(code);
}

static inline int ffslab_lfs_sync(const struct lfs_config *c) { return ffslab_lfs_answer(ffslab_sync(ffslab_lfs_chip(c))); }

#ifdef LFS_THREADSAFE
static inline int ffslab_lfs_lock(const struct lfs_config *c) { (void)c; return 0; }
#endif

/* Fills in the device functions, and each size that is 0: a block is an erase block; a page of NAND, or 128 bytes of NOR, are read and
 * programmed; a cache of 512 bytes at least, a lookahead of 128 bytes. Returns a code of libffslab. */
static inline int ffslab_lfs_config(struct lfs_config *c, ffslab_chip *chip) {
    struct ffslab_geometry of;
    int code = ffslab_geometry(chip, &of);
    if (code < 0) return code;
    uint32_t unit = of.program_B > 1 ? of.program_B : 128;
    c->context = chip;
    c->read = ffslab_lfs_read;
    c->prog = ffslab_lfs_prog;
    c->erase = ffslab_lfs_erase;
    c->sync = ffslab_lfs_sync;
#ifdef LFS_THREADSAFE
    if (!c->lock) c->lock = ffslab_lfs_lock;
    if (!c->unlock) c->unlock = ffslab_lfs_lock;
#endif
    if (!c->read_size) c->read_size = unit;
    if (!c->prog_size) c->prog_size = unit;
    if (!c->block_size) c->block_size = of.erase_block_B;
    if (!c->block_count) c->block_count = (lfs_size_t)(of.size_B / c->block_size);
    if (!c->block_cycles) c->block_cycles = 512;
    if (!c->cache_size) c->cache_size = unit > 512 ? unit : 512;
    if (!c->lookahead_size) c->lookahead_size = 128;
    return FFSLAB_OK;
}

#endif
