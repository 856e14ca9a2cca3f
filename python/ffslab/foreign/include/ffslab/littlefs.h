/* littlefs on a chip of libffslab: the device functions of struct lfs_config.
 *
 *     struct lfs_config config = { .block_cycles = 512 };
 *     ffslab_lfs_config(&config, chip);
 *     lfs_mount(&lfs, &config);
 *
 * What a program failure, a failed erase, a bad block or an uncorrectable read is to littlefs: LFS_ERR_CORRUPT, upon which it takes
 * another block. Everything else is LFS_ERR_IO. For littlefs 2.x. */
#ifndef FFSLAB_LITTLEFS_H
#define FFSLAB_LITTLEFS_H

#include <ffslab.h>
#include <lfs.h>

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
