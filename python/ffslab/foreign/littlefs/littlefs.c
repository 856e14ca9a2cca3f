/*
 * littlefs as Rust calls it: a narrow interface of plain numbers and pointers over lfs.h, so that no layout of a structure is
 * known on both sides.
 *
 * lfs.c is part of this file. Its functions report when they begin and end, and the table below says which of them explain the
 * flash operations that happen within them; each operation carries the cause of the innermost one.
 *
 * It is for littlefs 2.9, which ffslab carries, and for others from 2.2 on (`ffslab foreign build`). A function of the table that another version
 * calls otherwise, or has not, is another name by a macro of that build.
 *
 * An assertion that fails in lfs.c ends the call and the file system instead of the process: firmware would stop there.
 */
#include <setjmp.h>
#include <stdint.h>

#define QUIET __attribute__((no_instrument_function))

static void assertion_failed(const char *condition) QUIET;
#define LFS_ASSERT(condition) ((condition) ? (void)0 : assertion_failed(#condition))

/* A program with a littlefs of its own can be linked with this one. */
#define lfs_crc ffslab_own_lfs_crc
#define lfs_dir_close ffslab_own_lfs_dir_close
#define lfs_dir_open ffslab_own_lfs_dir_open
#define lfs_dir_read ffslab_own_lfs_dir_read
#define lfs_dir_rewind ffslab_own_lfs_dir_rewind
#define lfs_dir_seek ffslab_own_lfs_dir_seek
#define lfs_dir_tell ffslab_own_lfs_dir_tell
#define lfs_file_close ffslab_own_lfs_file_close
#define lfs_file_open ffslab_own_lfs_file_open
#define lfs_file_opencfg ffslab_own_lfs_file_opencfg
#define lfs_file_read ffslab_own_lfs_file_read
#define lfs_file_rewind ffslab_own_lfs_file_rewind
#define lfs_file_seek ffslab_own_lfs_file_seek
#define lfs_file_size ffslab_own_lfs_file_size
#define lfs_file_sync ffslab_own_lfs_file_sync
#define lfs_file_tell ffslab_own_lfs_file_tell
#define lfs_file_truncate ffslab_own_lfs_file_truncate
#define lfs_file_write ffslab_own_lfs_file_write
#define lfs_format ffslab_own_lfs_format
#define lfs_fs_gc ffslab_own_lfs_fs_gc
#define lfs_fs_grow ffslab_own_lfs_fs_grow
#define lfs_fs_mkconsistent ffslab_own_lfs_fs_mkconsistent
#define lfs_fs_size ffslab_own_lfs_fs_size
#define lfs_fs_stat ffslab_own_lfs_fs_stat
#define lfs_fs_traverse ffslab_own_lfs_fs_traverse
#define lfs_getattr ffslab_own_lfs_getattr
#define lfs_mkdir ffslab_own_lfs_mkdir
#define lfs_mount ffslab_own_lfs_mount
#define lfs_remove ffslab_own_lfs_remove
#define lfs_removeattr ffslab_own_lfs_removeattr
#define lfs_rename ffslab_own_lfs_rename
#define lfs_setattr ffslab_own_lfs_setattr
#define lfs_stat ffslab_own_lfs_stat
#define lfs_unmount ffslab_own_lfs_unmount

#include "lfs.c"
#include "lfs_util.c"
#include "littlefs.h"

/* In the order of the reasons in causes.rs. */
enum cause {
    OTHER,
    FORMAT,
    MOUNT,
    NAMES,
    OPEN,
    READ,
    WALK,
    DATA,
    EXTEND,
    TAIL,
    OUTLINE,
    COMMIT,
    COMPACTION,
    SCAN,
    RELOCATION,
    REPAIR,
    NAME_CHANGE,
    SPACE,
};

/* lfs_file_flush copies what stands behind the written part of a file: what it reads and writes for that is no wish of the program. */
#define CALLS_WATCHED lfs_file_flush
#define CALLS_REFINED(on, cause) \
    ((on)->watched && ((cause) == READ || (cause) == WALK || (cause) == DATA || (cause) == EXTEND) ? TAIL : (cause))
#include "calls.h"

static const struct ffslab_label LABELS[] = {
    {(const void *)lfs_format_, FORMAT, CALLS_LAST},
    {(const void *)lfs_mount_, MOUNT, CALLS_LAST},
    {(const void *)lfs_dir_find, NAMES, CALLS_WITHIN},
    {(const void *)lfs_stat_, NAMES, CALLS_WITHIN},
    {(const void *)lfs_dir_open_, NAMES, CALLS_WITHIN},
    {(const void *)lfs_dir_read_, NAMES, CALLS_WITHIN},
    {(const void *)lfs_file_opencfg_, OPEN, CALLS_WITHIN},
    {(const void *)lfs_file_flushedread, READ, CALLS_WITHIN},
    {(const void *)lfs_ctz_find, WALK, CALLS_WITHIN},
    {(const void *)lfs_file_flushedwrite, DATA, CALLS_WITHIN},
    {(const void *)lfs_file_write_, DATA, CALLS_WITHIN},
    {(const void *)lfs_file_flush, DATA, CALLS_WITHIN},
    {(const void *)lfs_ctz_extend, EXTEND, CALLS_WITHIN},
    {(const void *)lfs_file_outline, OUTLINE, CALLS_LAST},
    {(const void *)lfs_file_relocate, RELOCATION, CALLS_LAST},
    {(const void *)lfs_dir_orphaningcommit, COMMIT, CALLS_WITHIN},
    {(const void *)lfs_dir_relocatingcommit, COMMIT, CALLS_WITHIN},
    {(const void *)lfs_dir_alloc, COMMIT, CALLS_WITHIN},
    {(const void *)lfs_dir_splittingcompact, COMPACTION, CALLS_LAST},
    {(const void *)lfs_alloc_scan, SCAN, CALLS_LAST_ALWAYS},
    {(const void *)lfs_fs_parent, RELOCATION, CALLS_LAST},
    {(const void *)lfs_fs_pred, RELOCATION, CALLS_LAST},
    {(const void *)lfs_fs_forceconsistency, REPAIR, CALLS_WITHIN},
    {(const void *)lfs_fs_deorphan, REPAIR, CALLS_LAST},
    {(const void *)lfs_mkdir_, NAME_CHANGE, CALLS_WITHIN},
    {(const void *)lfs_remove_, NAME_CHANGE, CALLS_WITHIN},
    {(const void *)lfs_rename_, NAME_CHANGE, CALLS_WITHIN},
    {(const void *)lfs_file_truncate_, NAME_CHANGE, CALLS_WITHIN},
    {(const void *)lfs_fs_size_, SPACE, CALLS_LAST},
};

#define LABEL_COUNT (sizeof LABELS / sizeof LABELS[0])

struct ffslab_lfs {
    lfs_t lfs;
    struct lfs_config config;
    struct ffslab_lfs_device device;
    jmp_buf escape;
    const char *failed;
    struct ffslab_calls calls;
};

#if LFS_VERSION >= 0x00020009
#define LOOKAHEAD lookahead
#else
#define LOOKAHEAD free
#endif

struct ffslab_lfs_file {
    lfs_file_t file;
};

struct ffslab_lfs_dir {
    lfs_dir_t dir;
};

/* Whose call goes on: that of `calls_running`. */
static inline struct ffslab_lfs *QUIET running(void) {
    return calls_running ? (struct ffslab_lfs *)((char *)calls_running - offsetof(struct ffslab_lfs, calls)) : NULL;
}

void QUIET __attribute__((constructor)) ffslab_lfs_prepare(void) { calls_prepare(LABELS, LABEL_COUNT); }

static void assertion_failed(const char *condition) {
    struct ffslab_lfs *fs = running();
    if (fs) {
        fs->failed = condition;
        longjmp(fs->escape, 1);
    }
    abort();
}

/* ---- the device --------------------------------------------------------------------------------------------------- */

static int QUIET device_read(const struct lfs_config *c, lfs_block_t block, lfs_off_t off, void *buffer, lfs_size_t size) {
    struct ffslab_lfs *fs = c->context;
    return fs->device.read(fs->device.context, calls_cause(&fs->calls), block, off, buffer, size);
}

static int QUIET device_prog(const struct lfs_config *c, lfs_block_t block, lfs_off_t off, const void *buffer, lfs_size_t size) {
    struct ffslab_lfs *fs = c->context;
    return fs->device.prog(fs->device.context, calls_cause(&fs->calls), block, off, buffer, size);
}

static int QUIET device_erase(const struct lfs_config *c, lfs_block_t block) {
    struct ffslab_lfs *fs = c->context;
    return fs->device.erase(fs->device.context, calls_cause(&fs->calls), block);
}

static int QUIET device_sync(const struct lfs_config *c) {
    (void)c;
    return 0;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* Evaluates a call of lfs.h. Nothing can be asked of a file system any more in which an assertion has failed. */
#define CALL(fs, expression)           \
    do {                               \
        if ((fs)->failed) {            \
            return FFSLAB_LFS_FAILED;  \
        }                              \
        calls_begin(&(fs)->calls);     \
        if (setjmp((fs)->escape)) {    \
            calls_end();               \
            return FFSLAB_LFS_FAILED;  \
        }                              \
        int32_t result = (expression); \
        calls_end();                   \
        return result;                 \
    } while (0)

struct ffslab_lfs *QUIET ffslab_lfs_new(const struct ffslab_lfs_config *config, const struct ffslab_lfs_device *device) {
    struct ffslab_lfs *fs = calloc(1, sizeof *fs);
    if (!fs) {
        return NULL;
    }
    fs->device = *device;
    fs->config = (struct lfs_config){
        .context = fs,
        .read = device_read,
        .prog = device_prog,
        .erase = device_erase,
        .sync = device_sync,
        .read_size = config->read_size_bytes,
        .prog_size = config->prog_size_bytes,
        .block_size = config->block_size_bytes,
        .block_count = config->block_count,
        .block_cycles = config->block_cycles,
        .cache_size = config->cache_size_bytes,
        .lookahead_size = config->lookahead_size_bytes,
        .name_max = config->name_max_bytes,
#if LFS_VERSION >= 0x00020004
        .metadata_max = config->metadata_max_bytes,
#endif
#if LFS_VERSION >= 0x00020009
        .compact_thresh = config->compact_thresh_bytes,
        .inline_max = config->inline_max_bytes,
#endif
#ifdef LFS_MULTIVERSION
        .disk_version = config->disk_version,
#endif
    };
    return fs;
}

/* Of a mounted one: without writing. */
void QUIET ffslab_lfs_free(struct ffslab_lfs *fs) {
    lfs_free(fs->lfs.rcache.buffer);
    lfs_free(fs->lfs.pcache.buffer);
    lfs_free(fs->lfs.LOOKAHEAD.buffer);
    free(fs);
}

static void QUIET forget_buffers(struct ffslab_lfs *fs) {
    /* lfs_deinit has freed them. */
    fs->lfs.rcache.buffer = NULL;
    fs->lfs.pcache.buffer = NULL;
    fs->lfs.LOOKAHEAD.buffer = NULL;
}

const char *QUIET ffslab_lfs_failed(const struct ffslab_lfs *fs) {
    return fs->failed;
}

static int32_t QUIET format(struct ffslab_lfs *fs) {
    CALL(fs, lfs_format(&fs->lfs, &fs->config));
}

int32_t QUIET ffslab_lfs_format(struct ffslab_lfs *fs) {
    int32_t result = format(fs);
    if (!fs->failed) {
        forget_buffers(fs);
    }
    return result;
}

static int32_t QUIET mount(struct ffslab_lfs *fs) {
    CALL(fs, lfs_mount(&fs->lfs, &fs->config));
}

int32_t QUIET ffslab_lfs_mount(struct ffslab_lfs *fs) {
    int32_t result = mount(fs);
    if (result != 0 && !fs->failed) {
        forget_buffers(fs);
    }
    return result;
}

static int32_t QUIET unmount(struct ffslab_lfs *fs) {
    CALL(fs, lfs_unmount(&fs->lfs));
}

int32_t QUIET ffslab_lfs_unmount(struct ffslab_lfs *fs) {
    int32_t result = unmount(fs);
    if (!fs->failed) {
        forget_buffers(fs);
    }
    return result;
}

int32_t QUIET ffslab_lfs_file_open(struct ffslab_lfs *fs, struct ffslab_lfs_file *file, const char *path, int32_t flags) {
    CALL(fs, lfs_file_open(&fs->lfs, &file->file, path, flags));
}

struct ffslab_lfs_file *QUIET ffslab_lfs_file_new(void) {
    return calloc(1, sizeof(struct ffslab_lfs_file));
}

void QUIET ffslab_lfs_file_free(struct ffslab_lfs_file *file) {
    free(file);
}

/* Of a file system that is given up, or of an open file that is: its cache. */
void QUIET ffslab_lfs_file_drop(struct ffslab_lfs_file *file) {
    lfs_free(file->file.cache.buffer);
    free(file);
}

int32_t QUIET ffslab_lfs_file_close(struct ffslab_lfs *fs, struct ffslab_lfs_file *file) {
    CALL(fs, lfs_file_close(&fs->lfs, &file->file));
}

/* A program that reads or writes on where it is does not seek. */
static int32_t QUIET seek_to(struct ffslab_lfs *fs, struct ffslab_lfs_file *file, uint32_t at) {
    if ((uint32_t)lfs_file_tell(&fs->lfs, &file->file) == at) {
        return 0;
    }
    int32_t result = lfs_file_seek(&fs->lfs, &file->file, (lfs_soff_t)at, LFS_SEEK_SET);
    return result < 0 ? result : 0;
}

static int32_t QUIET read_at(struct ffslab_lfs *fs, struct ffslab_lfs_file *file, uint32_t at, void *into, uint32_t bytes) {
    int32_t result = seek_to(fs, file, at);
    return result < 0 ? result : lfs_file_read(&fs->lfs, &file->file, into, bytes);
}

int32_t QUIET ffslab_lfs_file_read(
    struct ffslab_lfs *fs, struct ffslab_lfs_file *file, uint32_t at, void *into, uint32_t bytes) {
    CALL(fs, read_at(fs, file, at, into, bytes));
}

static int32_t QUIET write_at(
    struct ffslab_lfs *fs, struct ffslab_lfs_file *file, uint32_t at, const void *data, uint32_t bytes) {
    int32_t result = seek_to(fs, file, at);
    return result < 0 ? result : lfs_file_write(&fs->lfs, &file->file, data, bytes);
}

int32_t QUIET ffslab_lfs_file_write(
    struct ffslab_lfs *fs, struct ffslab_lfs_file *file, uint32_t at, const void *data, uint32_t bytes) {
    CALL(fs, write_at(fs, file, at, data, bytes));
}

int32_t QUIET ffslab_lfs_file_sync(struct ffslab_lfs *fs, struct ffslab_lfs_file *file) {
    CALL(fs, lfs_file_sync(&fs->lfs, &file->file));
}

int32_t QUIET ffslab_lfs_file_truncate(struct ffslab_lfs *fs, struct ffslab_lfs_file *file, uint32_t bytes) {
    CALL(fs, lfs_file_truncate(&fs->lfs, &file->file, bytes));
}

int32_t QUIET ffslab_lfs_file_size(struct ffslab_lfs *fs, struct ffslab_lfs_file *file) {
    CALL(fs, lfs_file_size(&fs->lfs, &file->file));
}

int32_t QUIET ffslab_lfs_mkdir(struct ffslab_lfs *fs, const char *path) {
    CALL(fs, lfs_mkdir(&fs->lfs, path));
}

int32_t QUIET ffslab_lfs_remove(struct ffslab_lfs *fs, const char *path) {
    CALL(fs, lfs_remove(&fs->lfs, path));
}

int32_t QUIET ffslab_lfs_rename(struct ffslab_lfs *fs, const char *from, const char *to) {
    CALL(fs, lfs_rename(&fs->lfs, from, to));
}

static void QUIET tell(const struct lfs_info *info, struct ffslab_paths_info *found) {
    found->is_directory = info->type == LFS_TYPE_DIR;
    found->size_bytes = info->size;
    memcpy(found->name, info->name, sizeof found->name);
}

static int32_t QUIET stat_path(struct ffslab_lfs *fs, const char *path, struct ffslab_paths_info *found) {
    struct lfs_info info = {0};
    int32_t result = lfs_stat(&fs->lfs, path, &info);
    tell(&info, found);
    return result;
}

int32_t QUIET ffslab_lfs_stat(struct ffslab_lfs *fs, const char *path, struct ffslab_paths_info *found) {
    CALL(fs, stat_path(fs, path, found));
}

struct ffslab_lfs_dir *QUIET ffslab_lfs_dir_new(void) {
    return calloc(1, sizeof(struct ffslab_lfs_dir));
}

void QUIET ffslab_lfs_dir_free(struct ffslab_lfs_dir *dir) {
    free(dir);
}

int32_t QUIET ffslab_lfs_dir_open(struct ffslab_lfs *fs, struct ffslab_lfs_dir *dir, const char *path) {
    CALL(fs, lfs_dir_open(&fs->lfs, &dir->dir, path));
}

int32_t QUIET ffslab_lfs_dir_close(struct ffslab_lfs *fs, struct ffslab_lfs_dir *dir) {
    CALL(fs, lfs_dir_close(&fs->lfs, &dir->dir));
}

static int32_t QUIET next_entry(struct ffslab_lfs *fs, struct ffslab_lfs_dir *dir, struct ffslab_paths_info *found) {
    struct lfs_info info = {0};
    int32_t result = lfs_dir_read(&fs->lfs, &dir->dir, &info);
    tell(&info, found);
    return result;
}

int32_t QUIET ffslab_lfs_dir_read(struct ffslab_lfs *fs, struct ffslab_lfs_dir *dir, struct ffslab_paths_info *found) {
    CALL(fs, next_entry(fs, dir, found));
}

int32_t QUIET ffslab_lfs_used_blocks(struct ffslab_lfs *fs) {
    CALL(fs, lfs_fs_size(&fs->lfs));
}

int32_t QUIET ffslab_lfs_gc(struct ffslab_lfs *fs) {
#if LFS_VERSION >= 0x00020008
    CALL(fs, lfs_fs_gc(&fs->lfs));
#else
    (void)fs;
    return LFS_ERR_INVAL;
#endif
}

uint32_t QUIET ffslab_lfs_abi(void) {
    return FFSLAB_LFS_ABI;
}

uint32_t QUIET ffslab_lfs_version(void) {
    return LFS_VERSION;
}
