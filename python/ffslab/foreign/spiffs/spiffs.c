/*
 * SPIFFS as Rust calls it: the interface of paths.h over spiffs.h.
 *
 * The sources of SPIFFS are part of this file. Their functions report when they begin and end, and the table below says which of them explain
 * the flash operations that happen within them; each operation carries the cause of the innermost one. A function of the table that another
 * version lacks is another name by a macro of the build.
 *
 * SPIFFS has no directories, and no error numbers of Linux: both are translated here. Nothing else is added to what it does.
 */
#include "spiffs.h"
#include "spiffs_nucleus.h"

#include "spiffs_cache.c"
#include "spiffs_check.c"
#include "spiffs_gc.c"
#include "spiffs_hydrogen.c"
#include "spiffs_nucleus.c"

#include "calls.h"
#include "paths.h"
#include <stdio.h>
#include <stdlib.h>

enum cause { OTHER, FORMATTING, MOUNT, CHECK, NAMES, HEADER, INDEX, READ, DATA, FREE_PAGE, GC_CHOICE, GC_MOVE, REMOVAL };

static const struct ffslab_cause CAUSES[] = {
    [OTHER] = {"other", "nothing says why", KIND_READING, FOR_COST},
    [FORMATTING] = {"formatting", "all blocks are erased and marked", KIND_ERASING, FOR_FORMATTING},
    [MOUNT] = {"mount scan", "the look-up pages of all blocks are read at a mount", KIND_MOUNTING, FOR_COST},
    [CHECK] = {"check", "all pages are compared with the indices that name them", KIND_CHECKING, FOR_COST},
    [NAMES] = {"name look-up", "the headers of all files are read until one has the name", KIND_READING, FOR_READS},
    [HEADER] = {"file header", "the header of a file is written anew, with its size or name", KIND_WRITING, FOR_COST},
    [INDEX] = {"index search", "the look-up pages are read for the index of a file", KIND_READING, FOR_READS},
    [READ] = {"read", "data that the program asked for", KIND_READING, FOR_READ_DATA},
    [DATA] = {"user data", "data that the program wrote, and indices that name their pages", KIND_WRITING, FOR_WRITTEN_DATA},
    [FREE_PAGE] = {"free page search", "the look-up pages are read for a free page or number", KIND_MANAGING, FOR_COST},
    [GC_CHOICE] = {"gc choice", "the look-up pages of all blocks are read to choose one to erase", KIND_COLLECTING, FOR_COST},
    [GC_MOVE] = {"gc move", "valid pages of a block are copied, and the block is erased", KIND_COLLECTING, FOR_COST},
    [REMOVAL] = {"removal", "pages of a file that is removed or cut are marked deleted", KIND_WRITING, FOR_COST},
};
#define CAUSE_COUNT (sizeof CAUSES / sizeof CAUSES[0])

static const struct ffslab_label LABELS[] = {
    {(const void *)SPIFFS_format, FORMATTING, CALLS_LAST},
    {(const void *)SPIFFS_mount, MOUNT, CALLS_LAST},
    {(const void *)SPIFFS_check, CHECK, CALLS_LAST},
    {(const void *)SPIFFS_readdir, NAMES, CALLS_WITHIN},
    {(const void *)SPIFFS_info, MOUNT, CALLS_WITHIN},
    {(const void *)spiffs_object_find_object_index_header_by_name, NAMES, CALLS_WITHIN},
    {(const void *)spiffs_object_open_by_page, NAMES, CALLS_WITHIN},
    {(const void *)spiffs_stat_pix, NAMES, CALLS_WITHIN},
    {(const void *)spiffs_object_create, HEADER, CALLS_WITHIN},
    {(const void *)spiffs_object_update_index_hdr, HEADER, CALLS_WITHIN},
    {(const void *)spiffs_obj_lu_find_id_and_span, INDEX, CALLS_WITHIN},
    {(const void *)spiffs_obj_lu_find_id_and_span_by_phdr, INDEX, CALLS_WITHIN},
    {(const void *)spiffs_obj_lu_find_id, INDEX, CALLS_WITHIN},
    {(const void *)spiffs_object_read, READ, CALLS_WITHIN},
    {(const void *)spiffs_object_append, DATA, CALLS_WITHIN},
    {(const void *)spiffs_object_modify, DATA, CALLS_WITHIN},
    {(const void *)spiffs_obj_lu_find_free, FREE_PAGE, CALLS_WITHIN},
    {(const void *)spiffs_obj_lu_find_free_obj_id, FREE_PAGE, CALLS_WITHIN},
    {(const void *)spiffs_gc_find_candidate, GC_CHOICE, CALLS_LAST},
    {(const void *)spiffs_gc_quick, GC_CHOICE, CALLS_WITHIN},
    {(const void *)spiffs_gc_clean, GC_MOVE, CALLS_LAST},
    {(const void *)spiffs_gc_erase_block, GC_MOVE, CALLS_LAST},
    {(const void *)spiffs_gc_erase_page_stats, GC_CHOICE, CALLS_LAST},
    {(const void *)spiffs_object_truncate, REMOVAL, CALLS_WITHIN},
    {(const void *)SPIFFS_rename, HEADER, CALLS_WITHIN},
};
#define LABEL_COUNT (sizeof LABELS / sizeof LABELS[0])

#define FILES_MAX 16

struct ffslab_paths {
    spiffs fs;
    spiffs_config config;
    struct ffslab_device device;
    u8_t *work;
    u8_t *descriptors;
    u8_t *cache;
    u32_t descriptors_bytes;
    u32_t cache_bytes;
    struct ffslab_calls calls;
};

/* Whose call goes on: that of `calls_running`. */
static inline struct ffslab_paths *QUIET running(void) {
    return (struct ffslab_paths *)((char *)calls_running - offsetof(struct ffslab_paths, calls));
}

static void QUIET __attribute__((constructor)) prepare(void) { calls_prepare(LABELS, LABEL_COUNT); }

/* ---- the device --------------------------------------------------------------------------------------------------- */

#if SPIFFS_HAL_CALLBACK_EXTRA
#define HAL_ARGUMENTS struct spiffs_t *hal_fs,
#define HAL_UNUSED (void)hal_fs
#else
#define HAL_ARGUMENTS
#define HAL_UNUSED (void)0
#endif

static s32_t QUIET device_read(HAL_ARGUMENTS u32_t addr, u32_t size, u8_t *dst) {
    HAL_UNUSED;
    const struct ffslab_device *device = &running()->device;
    return device->read(device->context, calls_cause(calls_running), addr, dst, size) < 0 ? SPIFFS_ERR_INTERNAL : SPIFFS_OK;
}

static s32_t QUIET device_write(HAL_ARGUMENTS u32_t addr, u32_t size, u8_t *src) {
    HAL_UNUSED;
    const struct ffslab_device *device = &running()->device;
    return device->program(device->context, calls_cause(calls_running), addr, src, size) < 0 ? SPIFFS_ERR_INTERNAL : SPIFFS_OK;
}

static s32_t QUIET device_erase(HAL_ARGUMENTS u32_t addr, u32_t size) {
    HAL_UNUSED;
    const struct ffslab_device *device = &running()->device;
    return device->erase(device->context, calls_cause(calls_running), addr, size) < 0 ? SPIFFS_ERR_ERASE_FAIL : SPIFFS_OK;
}

/* ---- settings ----------------------------------------------------------------------------------------------------- */

uint32_t QUIET ffslab_paths_abi(void) { return FFSLAB_PATHS_ABI; }

const struct ffslab_cause *QUIET ffslab_paths_causes(uint32_t *count) {
    *count = CAUSE_COUNT;
    return CAUSES;
}

uint32_t QUIET ffslab_paths_name_bytes_max(void) { return SPIFFS_OBJ_NAME_LEN - 1; }

void QUIET ffslab_paths_free(struct ffslab_paths *on) {
    free(on->work);
    free(on->descriptors);
    free(on->cache);
    free(on);
}

/* NULL: there is no memory, or the build has its sizes in macros (SPIFFS_SINGLETON). */
struct ffslab_paths *QUIET ffslab_paths_new(
    const struct ffslab_device *device, const struct ffslab_setting *settings, uint32_t count) {
    struct ffslab_paths *on = calloc(1, sizeof *on);
    if (!on) {
        return NULL;
    }
    u32_t page = (u32_t)ffslab_setting_of(settings, count, "log_page_size_B", 256);
    u32_t files = (u32_t)ffslab_setting_of(settings, count, "open_files", FILES_MAX);
    u32_t pages = (u32_t)ffslab_setting_of(settings, count, "cache_pages", 4);
    on->device = *device;
    on->config.hal_read_f = device_read;
    on->config.hal_write_f = device_write;
    on->config.hal_erase_f = device_erase;
#if !SPIFFS_SINGLETON
    on->config.phys_size = (u32_t)device->size_bytes;
    on->config.phys_erase_block = device->erase_block_bytes;
    on->config.log_block_size = (u32_t)ffslab_setting_of(settings, count, "log_block_size_B", device->erase_block_bytes);
    on->config.log_page_size = page;
#endif
    on->descriptors_bytes = (u32_t)(sizeof(spiffs_fd) * files + sizeof(void *));
#if SPIFFS_CACHE
    on->cache_bytes = (u32_t)(sizeof(spiffs_cache) + pages * (sizeof(spiffs_cache_page) + page) + sizeof(void *));
#else
    (void)pages;
#endif
    on->work = calloc(2, page);
    on->descriptors = calloc(1, on->descriptors_bytes);
    on->cache = calloc(1, on->cache_bytes + 1);
    if (!on->work || !on->descriptors || !on->cache) {
        ffslab_paths_free(on);
        return NULL;
    }
    return on;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* Evaluates a call of spiffs.h. */
#define CALL(on, expression)           \
    do {                               \
        calls_begin(&(on)->calls);     \
        int64_t result = (expression); \
        calls_end();                   \
        return result;                 \
    } while (0)

/* Of Linux. An error of which programs are told nothing is one of the medium. */
static int32_t QUIET errno_of(s32_t code) {
    switch (code) {
    case SPIFFS_ERR_NOT_FOUND: return -2;
    case SPIFFS_ERR_BAD_DESCRIPTOR:
    case SPIFFS_ERR_FILE_CLOSED:
    case SPIFFS_ERR_NOT_WRITABLE:
    case SPIFFS_ERR_NOT_READABLE: return -9;
    case SPIFFS_ERR_CONFLICTING_NAME:
    case SPIFFS_ERR_FILE_EXISTS: return -17;
    case SPIFFS_ERR_NOT_CONFIGURED: return -22;
    case SPIFFS_ERR_OUT_OF_FILE_DESCS: return -23;
    case SPIFFS_ERR_FULL: return -28;
    case SPIFFS_ERR_NAME_TOO_LONG: return -36;
    case SPIFFS_ERR_NOT_A_FS: return -61;
    default: return -5;
    }
}

static int64_t QUIET told(struct ffslab_paths *on, s32_t code) {
    if (code >= 0) {
        return code;
    }
    s32_t error = SPIFFS_errno(&on->fs);
    SPIFFS_clearerr(&on->fs);
    return errno_of(error < 0 ? error : code);
}

/* There is one directory, so that a name has no '/' but the first. NULL: the path is that of something else. */
static const char *QUIET name_in(const char *path) {
    return path[0] == '/' && path[1] != 0 && strchr(path + 1, '/') == NULL ? path + 1 : NULL;
}

static int QUIET is_root(const char *path) { return path[0] == '/' && path[1] == 0; }

static s32_t QUIET mounted(struct ffslab_paths *on) {
    return SPIFFS_mount(&on->fs, &on->config, on->work, on->descriptors, on->descriptors_bytes, on->cache, on->cache_bytes, NULL);
}

/* SPIFFS takes its configuration from a mount, which fails here or is ended. */
static int64_t QUIET formatted(struct ffslab_paths *on) {
    if (mounted(on) >= 0) {
        SPIFFS_unmount(&on->fs);
    } else if (SPIFFS_errno(&on->fs) == SPIFFS_ERR_NOT_CONFIGURED) {
        return told(on, -1);
    }
    SPIFFS_clearerr(&on->fs);
    return told(on, SPIFFS_format(&on->fs));
}

int64_t QUIET ffslab_paths_format(struct ffslab_paths *on) { CALL(on, formatted(on)); }

int64_t QUIET ffslab_paths_mount(struct ffslab_paths *on) { CALL(on, told(on, mounted(on))); }

static int64_t QUIET unmounted(struct ffslab_paths *on) {
    SPIFFS_unmount(&on->fs);
    return 0;
}

int64_t QUIET ffslab_paths_unmount(struct ffslab_paths *on) { CALL(on, unmounted(on)); }

static int64_t QUIET opened(struct ffslab_paths *on, const char *path, uint32_t how) {
    if (is_root(path)) {
        return -21;
    }
    const char *name = name_in(path);
    if (!name) {
        return -2;
    }
    if (strlen(name) >= SPIFFS_OBJ_NAME_LEN) {
        return -36;
    }
    spiffs_flags flags = how & HOW_WRITE ? (how & HOW_READ ? SPIFFS_RDWR : SPIFFS_WRONLY) : SPIFFS_RDONLY;
    if (how & HOW_WRITE) {
        flags |= (spiffs_flags)((how & HOW_CREATE ? SPIFFS_CREAT : 0) | (how & HOW_TRUNCATE ? SPIFFS_TRUNC : 0));
        flags |= (spiffs_flags)((how & HOW_CREATE) && (how & HOW_EXCLUSIVE) ? SPIFFS_EXCL : 0);
    }
    return told(on, SPIFFS_open(&on->fs, name, flags, 0));
}

int64_t QUIET ffslab_paths_open(struct ffslab_paths *on, const char *path, uint32_t how) { CALL(on, opened(on, path, how)); }

/* A close that fails at its last write leaves the handle open; it is gone for who called. */
int64_t QUIET ffslab_paths_close(struct ffslab_paths *on, uint32_t file) { CALL(on, told(on, SPIFFS_close(&on->fs, (spiffs_file)file))); }

static int64_t QUIET size_of(struct ffslab_paths *on, uint32_t file) {
    spiffs_stat found;
    int64_t code = told(on, SPIFFS_fstat(&on->fs, (spiffs_file)file, &found));
    if (code < 0) {
        return code;
    }
    /* A file that holds nothing has no size yet. */
    return found.size == SPIFFS_UNDEFINED_LEN ? 0 : (int64_t)found.size;
}

int64_t QUIET ffslab_paths_size(struct ffslab_paths *on, uint32_t file) { CALL(on, size_of(on, file)); }

/* A program that reads or writes on where it is does not seek. */
static int64_t QUIET sought(struct ffslab_paths *on, uint32_t file, uint64_t at) {
    if ((uint64_t)(int64_t)SPIFFS_tell(&on->fs, (spiffs_file)file) == at) {
        return 0;
    }
    return told(on, SPIFFS_lseek(&on->fs, (spiffs_file)file, (s32_t)at, SPIFFS_SEEK_SET));
}

static int64_t QUIET read_at(struct ffslab_paths *on, uint32_t file, uint64_t at, void *into, uint32_t bytes) {
    int64_t size = size_of(on, file);
    if (size < 0 || (uint64_t)size <= at || bytes == 0) {
        return size < 0 ? size : 0;
    }
    uint64_t there = (uint64_t)size - at;
    int64_t code = sought(on, file, at);
    return code < 0 ? code : told(on, SPIFFS_read(&on->fs, (spiffs_file)file, into, (s32_t)(bytes < there ? bytes : there)));
}

int64_t QUIET ffslab_paths_read(struct ffslab_paths *on, uint32_t file, uint64_t at, void *into, uint32_t bytes) {
    CALL(on, read_at(on, file, at, into, bytes));
}

/* Zeros until the file is so long. */
static int64_t QUIET extended(struct ffslab_paths *on, uint32_t file, uint64_t until) {
    static const u8_t zeros[256];
    int64_t size = size_of(on, file);
    int64_t code = size < 0 ? size : (uint64_t)size < until ? sought(on, file, (uint64_t)size) : 0;
    while (code >= 0 && (uint64_t)size < until) {
        uint64_t missing = until - (uint64_t)size;
        u32_t bytes = missing < sizeof zeros ? (u32_t)missing : (u32_t)sizeof zeros;
        code = told(on, SPIFFS_write(&on->fs, (spiffs_file)file, (void *)zeros, (s32_t)bytes));
        size += code > 0 ? code : 0;
    }
    return code < 0 ? code : 0;
}

static int64_t QUIET write_at(struct ffslab_paths *on, uint32_t file, uint64_t at, const void *data, uint32_t bytes) {
    int64_t code = (uint64_t)(int64_t)SPIFFS_tell(&on->fs, (spiffs_file)file) == at ? 0 : extended(on, file, at);
    code = code < 0 ? code : sought(on, file, at);
    return code < 0 ? code : told(on, SPIFFS_write(&on->fs, (spiffs_file)file, (void *)data, (s32_t)bytes));
}

int64_t QUIET ffslab_paths_write(struct ffslab_paths *on, uint32_t file, uint64_t at, const void *data, uint32_t bytes) {
    CALL(on, write_at(on, file, at, data, bytes));
}

int64_t QUIET ffslab_paths_sync(struct ffslab_paths *on, uint32_t file) { CALL(on, told(on, SPIFFS_fflush(&on->fs, (spiffs_file)file))); }

static int64_t QUIET cut(struct ffslab_paths *on, uint32_t file, uint64_t bytes) {
    int64_t size = size_of(on, file);
    if (size < 0 || (uint64_t)size == bytes) {
        return size < 0 ? size : 0;
    }
    if ((uint64_t)size < bytes) {
        return extended(on, file, bytes);
    }
#ifdef FFSLAB_HAS_FTRUNCATE
    return told(on, SPIFFS_ftruncate(&on->fs, (spiffs_file)file, (u32_t)bytes));
#else
    return -38;
#endif
}

int64_t QUIET ffslab_paths_truncate(struct ffslab_paths *on, uint32_t file, uint64_t bytes) { CALL(on, cut(on, file, bytes)); }

int64_t QUIET ffslab_paths_mkdir(struct ffslab_paths *on, const char *path) {
    (void)on;
    (void)path;
    return -38;
}

static int64_t QUIET removed(struct ffslab_paths *on, const char *path) {
    const char *name = name_in(path);
    return name ? told(on, SPIFFS_remove(&on->fs, name)) : is_root(path) ? -16 : -2;
}

int64_t QUIET ffslab_paths_remove(struct ffslab_paths *on, const char *path) { CALL(on, removed(on, path)); }

/* SPIFFS replaces no file: -EEXIST. */
static int64_t QUIET renamed(struct ffslab_paths *on, const char *from, const char *to) {
    const char *old = name_in(from), *new = name_in(to);
    if (!old || !new) {
        return is_root(from) || is_root(to) ? -16 : -2;
    }
    if (strlen(new) >= SPIFFS_OBJ_NAME_LEN) {
        return -36;
    }
    return told(on, SPIFFS_rename(&on->fs, old, new));
}

int64_t QUIET ffslab_paths_rename(struct ffslab_paths *on, const char *from, const char *to) { CALL(on, renamed(on, from, to)); }

static void QUIET fill(struct ffslab_paths_info *found, const u8_t *name, u32_t size) {
    found->is_directory = 0;
    found->size_bytes = size == SPIFFS_UNDEFINED_LEN ? 0 : size;
    snprintf(found->name, sizeof found->name, "%.*s", (int)SPIFFS_OBJ_NAME_LEN, (const char *)name);
}

static int64_t QUIET looked_up(struct ffslab_paths *on, const char *path, struct ffslab_paths_info *found) {
    if (is_root(path)) {
        found->is_directory = 1;
        return 0;
    }
    const char *name = name_in(path);
    spiffs_stat stat;
    int64_t code = name ? strlen(name) >= SPIFFS_OBJ_NAME_LEN ? -36 : told(on, SPIFFS_stat(&on->fs, name, &stat)) : -2;
    if (code >= 0) {
        fill(found, stat.name, stat.size);
    }
    return code;
}

int64_t QUIET ffslab_paths_stat(struct ffslab_paths *on, const char *path, struct ffslab_paths_info *found) {
    CALL(on, looked_up(on, path, found));
}

static int64_t QUIET listed(struct ffslab_paths *on, const char *path, ffslab_paths_emit emit, void *context) {
    if (!is_root(path)) {
        const char *name = name_in(path);
        spiffs_stat stat;
        int64_t code = name ? told(on, SPIFFS_stat(&on->fs, name, &stat)) : -2;
        return code < 0 ? code : -20;
    }
    spiffs_DIR directory;
    struct spiffs_dirent entry;
    if (!SPIFFS_opendir(&on->fs, "/", &directory)) {
        return told(on, -1);
    }
    while (SPIFFS_readdir(&directory, &entry)) {
        struct ffslab_paths_info found = {0};
        fill(&found, entry.name, entry.size);
        emit(context, &found);
    }
    s32_t error = SPIFFS_errno(&on->fs);
    SPIFFS_clearerr(&on->fs);
    SPIFFS_closedir(&directory);
    return error == SPIFFS_VIS_END || error >= 0 ? 0 : errno_of(error);
}

int64_t QUIET ffslab_paths_list(struct ffslab_paths *on, const char *path, ffslab_paths_emit emit, void *context) {
    CALL(on, listed(on, path, emit, context));
}

static int64_t QUIET space(struct ffslab_paths *on, uint64_t *total, uint64_t *used) {
    u32_t all = 0, taken = 0;
    int64_t code = told(on, SPIFFS_info(&on->fs, &all, &taken));
    *total = all;
    *used = taken;
    return code;
}

/* Bytes. */
int64_t QUIET ffslab_paths_space(struct ffslab_paths *on, uint64_t *total, uint64_t *used) { CALL(on, space(on, total, used)); }

/* A block with nothing valid in it is erased, if there is one. */
static int64_t QUIET collected(struct ffslab_paths *on) {
    int64_t code = told(on, SPIFFS_gc_quick(&on->fs, 0));
    return code == -5 ? 0 : code;
}

int64_t QUIET ffslab_paths_gc(struct ffslab_paths *on) { CALL(on, collected(on)); }
