/*
 * FatFs as Rust calls it: the interface of paths.h over ff.h, with the functions of diskio.h on the sectors of a translation.
 *
 * The sources of FatFs are part of this file. A read has the cause of the innermost function of the table below, a write that of what it
 * writes: FatFs keeps a sector of the allocation table or of a directory until it needs its buffer for another one.
 *
 * FatFs has no error numbers of Linux, and leaves what lay there between the end of a file and a later write: both are mended here. Nothing
 * else is added to what it does.
 */
#include "ff.c"
#ifdef FFSLAB_HAS_UNICODE
#include "ffunicode.c"
#endif

#include "calls.h"
#include "paths.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#if FF_FS_READONLY || FF_FS_MINIMIZE || !FF_USE_MKFS
#error ffslab needs FF_FS_READONLY = 0, FF_FS_MINIMIZE = 0 and FF_USE_MKFS = 1
#endif
#if FF_USE_LFN && (FF_LFN_UNICODE == 1 || FF_LFN_UNICODE == 3)
#error ffslab needs paths of bytes: FF_LFN_UNICODE = 0 or 2
#endif
#if FF_USE_LFN && !defined FFSLAB_HAS_UNICODE
#error long names need ffunicode.c beside ff.c: FF_USE_LFN = 0 leaves them out
#endif

enum cause { OTHER, FORMATTING, MOUNT, NAMES, ENTRY, TABLE, READ, DATA, SPACE };

static const struct ffslab_cause CAUSES[] = {
    [OTHER] = {"other", "nothing says why", KIND_READING, FOR_COST},
    [FORMATTING] = {"formatting", "f_mkfs writes the boot sector, the tables and the root directory", KIND_ERASING, FOR_FORMATTING},
    [MOUNT] = {"mount scan", "the boot sector is looked for at a mount", KIND_MOUNTING, FOR_COST},
    [NAMES] = {"name look-up", "directories are read until an entry has the name", KIND_READING, FOR_READS},
    [ENTRY] = {"directory entry", "an entry of a directory: a name, the size of a file, where it begins", KIND_WRITING, FOR_COST},
    [TABLE] = {"allocation table", "the table says which cluster comes next, and which are free", KIND_MANAGING, FOR_COST},
    [READ] = {"read", "data that the program asked for", KIND_READING, FOR_READ_DATA},
    [DATA] = {"user data", "data that the program wrote", KIND_WRITING, FOR_WRITTEN_DATA},
    [SPACE] = {"free space count", "the whole table is read to count free clusters", KIND_MANAGING, FOR_COST},
};
#define CAUSE_COUNT (sizeof CAUSES / sizeof CAUSES[0])

static const struct ffslab_label LABELS[] = {
    {(const void *)f_mkfs, FORMATTING, CALLS_LAST},
    {(const void *)mount_volume, MOUNT, CALLS_LAST},
    {(const void *)f_getfree, SPACE, CALLS_LAST},
    {(const void *)f_open, NAMES, CALLS_WITHIN},
    {(const void *)f_stat, NAMES, CALLS_WITHIN},
    {(const void *)f_opendir, NAMES, CALLS_WITHIN},
    {(const void *)f_readdir, NAMES, CALLS_WITHIN},
    {(const void *)follow_path, NAMES, CALLS_WITHIN},
    {(const void *)dir_find, NAMES, CALLS_WITHIN},
    {(const void *)dir_register, ENTRY, CALLS_WITHIN},
    {(const void *)dir_remove, ENTRY, CALLS_WITHIN},
    {(const void *)dir_clear, ENTRY, CALLS_LAST},
    {(const void *)f_mkdir, ENTRY, CALLS_WITHIN},
    {(const void *)f_unlink, ENTRY, CALLS_WITHIN},
    {(const void *)f_rename, ENTRY, CALLS_WITHIN},
    {(const void *)f_sync, ENTRY, CALLS_WITHIN},
    {(const void *)get_fat, TABLE, CALLS_WITHIN},
    {(const void *)put_fat, TABLE, CALLS_WITHIN},
    {(const void *)create_chain, TABLE, CALLS_WITHIN},
    {(const void *)remove_chain, TABLE, CALLS_WITHIN},
    {(const void *)f_truncate, TABLE, CALLS_WITHIN},
    {(const void *)f_read, READ, CALLS_WITHIN},
    {(const void *)f_lseek, READ, CALLS_WITHIN},
    {(const void *)f_write, DATA, CALLS_WITHIN},
};
#define LABEL_COUNT (sizeof LABELS / sizeof LABELS[0])

#define FILES_MAX 16

struct ffslab_paths {
    FATFS *volume;
    struct ffslab_device device;
    FIL **files;
    uint32_t files_max;
    uint32_t cluster_bytes;
    uint32_t tables;
    uint32_t root_entries;
    int is_mounted;
#if FF_FS_LOCK
    /* What of its files is locked: `Files` of ff.c, which all volumes share. */
    uint8_t locks[sizeof Files];
#endif
    struct ffslab_calls calls;
};

/* FatFs has its volumes in static variables, and drive 0 is that of the call that goes on: one at a time. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static inline struct ffslab_paths *QUIET running(void) {
    return (struct ffslab_paths *)((char *)calls_running - offsetof(struct ffslab_paths, calls));
}

static void QUIET __attribute__((constructor)) prepare(void) { calls_prepare(LABELS, LABEL_COUNT); }

static void QUIET begin(struct ffslab_paths *on) {
    pthread_mutex_lock(&one_at_a_time);
    FatFs[0] = on->is_mounted ? on->volume : NULL;
#if FF_FS_LOCK
    memcpy(Files, on->locks, sizeof Files);
#endif
    calls_begin(&on->calls);
}

static void QUIET end(struct ffslab_paths *on) {
    calls_end();
    on->is_mounted = FatFs[0] != NULL;
#if FF_FS_LOCK
    memcpy(on->locks, Files, sizeof Files);
#endif
    FatFs[0] = NULL;
    pthread_mutex_unlock(&one_at_a_time);
}

/* ---- the device --------------------------------------------------------------------------------------------------- */

#if FF_MULTI_PARTITION
PARTITION VolToPart[FF_VOLUMES];
#endif

#if !FF_FS_NORTC
/* 1 January 2026. There is no clock. */
DWORD QUIET get_fattime(void) { return (DWORD)(2026 - 1980) << 25 | 1UL << 21 | 1UL << 16; }
#endif

/* Some versions of the configuration need them, and those that do not have them. */
void *QUIET ff_memalloc(UINT bytes) { return malloc(bytes); }
void QUIET ff_memfree(void *block) { free(block); }
#if FF_FS_REENTRANT
int QUIET ff_mutex_create(int volume) { return volume >= 0; }
void QUIET ff_mutex_delete(int volume) { (void)volume; }
int QUIET ff_mutex_take(int volume) { return volume >= 0; }
void QUIET ff_mutex_give(int volume) { (void)volume; }
#endif

DSTATUS QUIET disk_status(BYTE drive) { return drive == 0 && calls_running ? 0 : STA_NOINIT; }
DSTATUS QUIET disk_initialize(BYTE drive) { return disk_status(drive); }

DRESULT QUIET disk_read(BYTE drive, BYTE *into, LBA_t sector, UINT count) {
    if (disk_status(drive)) {
        return RES_NOTRDY;
    }
    const struct ffslab_device *device = &running()->device;
    uint64_t bytes = device->program_bytes;
    int32_t code = device->read(device->context, calls_cause(calls_running), sector * bytes, into, (uint32_t)(count * bytes));
    return code < 0 ? RES_ERROR : RES_OK;
}

/* Whether it belongs to what says where files lie. */
static int QUIET is_of_table(const FATFS *volume, LBA_t sector) {
    int is_in_table = sector - volume->fatbase < (LBA_t)volume->fsize * volume->n_fats;
    return is_in_table || (volume->fs_type == FS_FAT32 && sector == volume->volbase + 1);
}

static uint32_t QUIET cause_of_write(const struct ffslab_paths *on, const BYTE *data, LBA_t sector) {
    uint32_t cause = calls_cause(&on->calls);
    if (calls_is_lasting(&on->calls)) {
        return cause;
    }
    if (data != on->volume->win) {
        return DATA;
    }
    if (is_of_table(on->volume, sector)) {
        return TABLE;
    }
#if FF_FS_TINY
    /* Data of files pass through the same buffer. */
    return cause == DATA || cause == READ ? DATA : ENTRY;
#else
    return ENTRY;
#endif
}

DRESULT QUIET disk_write(BYTE drive, const BYTE *data, LBA_t sector, UINT count) {
    if (disk_status(drive)) {
        return RES_NOTRDY;
    }
    const struct ffslab_device *device = &running()->device;
    uint64_t bytes = device->program_bytes;
    uint32_t cause = cause_of_write(running(), data, sector);
    return device->program(device->context, cause, sector * bytes, data, (uint32_t)(count * bytes)) < 0 ? RES_ERROR : RES_OK;
}

DRESULT QUIET disk_ioctl(BYTE drive, BYTE command, void *buffer) {
    if (disk_status(drive)) {
        return RES_NOTRDY;
    }
    const struct ffslab_device *device = &running()->device;
    uint64_t bytes = device->program_bytes;
    switch (command) {
    case CTRL_SYNC: return device->sync(device->context, calls_cause(calls_running)) < 0 ? RES_ERROR : RES_OK;
    case GET_SECTOR_COUNT: *(LBA_t *)buffer = (LBA_t)(device->size_bytes / bytes); return RES_OK;
    case GET_SECTOR_SIZE: *(WORD *)buffer = (WORD)bytes; return RES_OK;
    case GET_BLOCK_SIZE: *(DWORD *)buffer = (DWORD)(device->erase_block_bytes / bytes); return RES_OK;
    case CTRL_TRIM: {
        const LBA_t *range = buffer;
        uint64_t size = (range[1] - range[0] + 1) * bytes;
        return device->erase(device->context, calls_cause(calls_running), range[0] * bytes, (uint32_t)size) < 0 ? RES_ERROR : RES_OK;
    }
    default: return RES_PARERR;
    }
}

/* ---- settings ----------------------------------------------------------------------------------------------------- */

uint32_t QUIET ffslab_paths_abi(void) { return FFSLAB_PATHS_ABI; }

const struct ffslab_cause *QUIET ffslab_paths_causes(uint32_t *count) {
    *count = CAUSE_COUNT;
    return CAUSES;
}

#if FF_USE_LFN
uint32_t QUIET ffslab_paths_name_bytes_max(void) { return FF_MAX_LFN; }
#else
uint32_t QUIET ffslab_paths_name_bytes_max(void) { return 12; }
#endif

static void QUIET file_freed(struct ffslab_paths *on, uint32_t file) {
#if !FF_FS_TINY && FF_USE_DYN_BUFFER
    free(on->files[file]->buf);
#endif
    free(on->files[file]);
    on->files[file] = NULL;
}

void QUIET ffslab_paths_free(struct ffslab_paths *on) {
    for (uint32_t file = 0; on->files && file < on->files_max; file++) {
        if (on->files[file]) {
            file_freed(on, file);
        }
    }
#if FF_USE_DYN_BUFFER
    if (on->volume) {
        free(on->volume->win);
    }
#endif
    free(on->volume);
    free(on->files);
    free(on);
}

/* NULL: there is no memory, or the build has other sectors. */
struct ffslab_paths *QUIET
ffslab_paths_new(const struct ffslab_device *device, const struct ffslab_setting *settings, uint32_t count) {
    struct ffslab_paths *on = calloc(1, sizeof *on);
    if (!on) {
        return NULL;
    }
    on->device = *device;
    on->files_max = (uint32_t)ffslab_setting_of(settings, count, "open_files", FILES_MAX);
    on->cluster_bytes = (uint32_t)ffslab_setting_of(settings, count, "cluster_size_B", 0);
    on->tables = (uint32_t)ffslab_setting_of(settings, count, "tables", 2);
    on->root_entries = (uint32_t)ffslab_setting_of(settings, count, "root_entries", 0);
    on->volume = calloc(1, sizeof *on->volume);
    on->files = calloc(on->files_max, sizeof *on->files);
    if (!on->volume || !on->files || device->program_bytes < FF_MIN_SS || device->program_bytes > FF_MAX_SS) {
        ffslab_paths_free(on);
        return NULL;
    }
    return on;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* Evaluates a call of ff.h. */
#define CALL(on, expression)           \
    do {                               \
        begin(on);                     \
        int64_t result = (expression); \
        end(on);                       \
        return result;                 \
    } while (0)

/* Of Linux. `denied` is what FR_DENIED stands for, which has many meanings. */
static int64_t QUIET told(FRESULT code, int denied) {
    switch (code) {
    case FR_OK: return 0;
    case FR_NO_FILE:
    case FR_NO_PATH: return -2;
    case FR_INVALID_OBJECT: return -9;
    case FR_NOT_ENOUGH_CORE: return -12;
    case FR_LOCKED:
    case FR_TIMEOUT: return -16;
    case FR_EXIST: return -17;
    case FR_INVALID_NAME:
    case FR_MKFS_ABORTED:
    case FR_INVALID_PARAMETER: return -22;
    case FR_TOO_MANY_OPEN_FILES: return -23;
    case FR_NO_FILESYSTEM: return -61;
    case FR_DENIED: return denied;
    default: return -5;
    }
}

/* FatFs says of names that are too long that they are none. */
static int64_t QUIET told_of(const char *path, FRESULT code, int denied) {
    for (const char *name = path; code == FR_INVALID_NAME && *name; name += strcspn(name, "/")) {
        name += strspn(name, "/");
        if (strcspn(name, "/") > ffslab_paths_name_bytes_max()) {
            return -36;
        }
    }
    return told(code, denied);
}

static int QUIET is_root(const char *path) { return path[0] == '/' && path[1] == 0; }

static FIL *QUIET file_of(const struct ffslab_paths *on, uint32_t file) { return file < on->files_max ? on->files[file] : NULL; }

static int64_t QUIET formatted(struct ffslab_paths *on) {
    static BYTE work[FF_MAX_SS];
    MKFS_PARM how = {(BYTE)(FM_ANY | FM_SFD), (BYTE)on->tables, 0, on->root_entries, on->cluster_bytes};
    return told(f_mkfs("", &how, work, on->device.program_bytes), -22);
}

int64_t QUIET ffslab_paths_format(struct ffslab_paths *on) { CALL(on, formatted(on)); }

int64_t QUIET ffslab_paths_mount(struct ffslab_paths *on) { CALL(on, told(f_mount(on->volume, "", 1), -5)); }

int64_t QUIET ffslab_paths_unmount(struct ffslab_paths *on) { CALL(on, told(f_mount(NULL, "", 0), -5)); }

/* Why FatFs denies to open a file for writing: it is a directory, or there is no room for a new one. */
static int QUIET why_denied(const char *path) {
    FILINFO info;
    FRESULT found = f_stat(path, &info);
    return found != FR_OK ? -28 : info.fattrib & AM_DIR ? -21 : -13;
}

static int64_t QUIET opened(struct ffslab_paths *on, const char *path, uint32_t how) {
    if (is_root(path)) {
        return -21;
    }
    uint32_t file = 0;
    while (file < on->files_max && on->files[file]) {
        file++;
    }
    if (file == on->files_max) {
        return -23;
    }
    uint32_t made = how & HOW_WRITE ? how & (HOW_CREATE | HOW_EXCLUSIVE | HOW_TRUNCATE) : 0;
    BYTE mode = (BYTE)((how & HOW_READ ? FA_READ : 0) | (how & HOW_WRITE ? FA_WRITE : 0));
    if ((made & HOW_CREATE) && (made & HOW_EXCLUSIVE)) {
        mode |= FA_CREATE_NEW;
    } else if (made & HOW_CREATE) {
        mode |= made & HOW_TRUNCATE ? FA_CREATE_ALWAYS : FA_OPEN_ALWAYS;
    }
    FIL *opened = calloc(1, sizeof *opened);
    if (!opened) {
        return -12;
    }
    FRESULT code = f_open(opened, path, mode);
    if (code == FR_OK && made == HOW_TRUNCATE) {
        code = f_truncate(opened);
    }
    if (code != FR_OK) {
        free(opened);
        /* FatFs says of a directory that it is no file. */
        FILINFO info;
        if (code == FR_NO_FILE && f_stat(path, &info) == FR_OK && info.fattrib & AM_DIR) {
            return -21;
        }
        return told_of(path, code, code == FR_DENIED ? why_denied(path) : -5);
    }
    on->files[file] = opened;
    return file;
}

int64_t QUIET ffslab_paths_open(struct ffslab_paths *on, const char *path, uint32_t how) { CALL(on, opened(on, path, how)); }

/* A close that fails leaves the object to FatFs; it is gone for who called. */
static int64_t QUIET closed(struct ffslab_paths *on, uint32_t file) {
    if (!file_of(on, file)) {
        return -9;
    }
    int64_t code = told(f_close(on->files[file]), -5);
#if !FF_FS_TINY && FF_USE_DYN_BUFFER
    if (code == 0) {
        on->files[file]->buf = NULL;
    }
#endif
    file_freed(on, file);
    return code;
}

int64_t QUIET ffslab_paths_close(struct ffslab_paths *on, uint32_t file) { CALL(on, closed(on, file)); }

int64_t QUIET ffslab_paths_size(struct ffslab_paths *on, uint32_t file) {
    return file_of(on, file) ? (int64_t)f_size(on->files[file]) : -9;
}

/* A program that reads or writes on where it is does not seek. */
static FRESULT QUIET sought(FIL *file, uint64_t at) { return f_tell(file) == at ? FR_OK : f_lseek(file, (FSIZE_t)at); }

static int64_t QUIET read_at(struct ffslab_paths *on, uint32_t number, uint64_t at, void *into, uint32_t bytes) {
    FIL *file = file_of(on, number);
    if (!file) {
        return -9;
    }
    if (at >= f_size(file)) {
        return 0;
    }
    UINT read = 0;
    FRESULT code = sought(file, at);
    code = code == FR_OK ? f_read(file, into, bytes, &read) : code;
    return code == FR_OK ? (int64_t)read : told(code, -9);
}

int64_t QUIET ffslab_paths_read(struct ffslab_paths *on, uint32_t file, uint64_t at, void *into, uint32_t bytes) {
    CALL(on, read_at(on, file, at, into, bytes));
}

static int64_t QUIET written(FIL *file, const void *data, uint32_t bytes) {
    UINT wrote = 0;
    FRESULT code = f_write(file, data, bytes, &wrote);
    if (code != FR_OK) {
        return told(code, -9);
    }
    return wrote == 0 && bytes > 0 ? -28 : (int64_t)wrote;
}

/* Zeros until the file is so long. */
static int64_t QUIET extended(FIL *file, uint64_t until) {
    static const BYTE zeros[FF_MAX_SS];
    int64_t code = f_size(file) < until ? told(sought(file, f_size(file)), -9) : 0;
    while (code >= 0 && f_size(file) < until) {
        uint64_t missing = until - f_size(file);
        code = written(file, zeros, missing < sizeof zeros ? (uint32_t)missing : (uint32_t)sizeof zeros);
    }
    return code < 0 ? code : 0;
}

static int64_t QUIET write_at(struct ffslab_paths *on, uint32_t number, uint64_t at, const void *data, uint32_t bytes) {
    FIL *file = file_of(on, number);
    if (!file) {
        return -9;
    }
    int64_t code = extended(file, at);
    code = code < 0 ? code : told(sought(file, at), -9);
    return code < 0 ? code : written(file, data, bytes);
}

int64_t QUIET ffslab_paths_write(struct ffslab_paths *on, uint32_t file, uint64_t at, const void *data, uint32_t bytes) {
    CALL(on, write_at(on, file, at, data, bytes));
}

static int64_t QUIET synced(struct ffslab_paths *on, uint32_t file) { return file_of(on, file) ? told(f_sync(on->files[file]), -5) : -9; }

int64_t QUIET ffslab_paths_sync(struct ffslab_paths *on, uint32_t file) { CALL(on, synced(on, file)); }

static int64_t QUIET cut(struct ffslab_paths *on, uint32_t number, uint64_t bytes) {
    FIL *file = file_of(on, number);
    if (!file) {
        return -9;
    }
    if (f_size(file) <= bytes) {
        return extended(file, bytes);
    }
    FRESULT code = sought(file, bytes);
    return told(code == FR_OK ? f_truncate(file) : code, -9);
}

int64_t QUIET ffslab_paths_truncate(struct ffslab_paths *on, uint32_t file, uint64_t bytes) { CALL(on, cut(on, file, bytes)); }

int64_t QUIET ffslab_paths_mkdir(struct ffslab_paths *on, const char *path) {
    CALL(on, is_root(path) ? -17 : told_of(path, f_mkdir(path), -28));
}

int64_t QUIET ffslab_paths_remove(struct ffslab_paths *on, const char *path) {
    CALL(on, is_root(path) ? -16 : told_of(path, f_unlink(path), -39));
}

/* FatFs replaces nothing: -EEXIST. */
int64_t QUIET ffslab_paths_rename(struct ffslab_paths *on, const char *from, const char *to) {
    CALL(on, is_root(from) || is_root(to) ? -16 : told_of(to, f_rename(from, to), -28));
}

static void QUIET fill(struct ffslab_paths_info *found, const FILINFO *info) {
    found->is_directory = (info->fattrib & AM_DIR) != 0;
    found->size_bytes = found->is_directory ? 0 : info->fsize;
    snprintf(found->name, sizeof found->name, "%s", info->fname);
}

static int64_t QUIET looked_up(const char *path, struct ffslab_paths_info *found) {
    if (is_root(path)) {
        found->is_directory = 1;
        return 0;
    }
    FILINFO info;
    FRESULT code = f_stat(path, &info);
    if (code == FR_OK) {
        fill(found, &info);
    }
    return told_of(path, code, -5);
}

int64_t QUIET ffslab_paths_stat(struct ffslab_paths *on, const char *path, struct ffslab_paths_info *found) {
    CALL(on, looked_up(path, found));
}

static int64_t QUIET listed(const char *path, ffslab_paths_emit emit, void *context) {
    FFSLAB_FATFS_DIR directory;
    FILINFO info;
    FRESULT code = f_opendir(&directory, path);
    if (code == FR_NO_PATH && f_stat(path, &info) == FR_OK) {
        return -20;
    }
    if (code != FR_OK) {
        return told_of(path, code, -5);
    }
    while ((code = f_readdir(&directory, &info)) == FR_OK && info.fname[0] != 0) {
        struct ffslab_paths_info found = {0};
        fill(&found, &info);
        emit(context, &found);
    }
    FRESULT end_code = f_closedir(&directory);
    return told(code == FR_OK ? end_code : code, -5);
}

int64_t QUIET ffslab_paths_list(struct ffslab_paths *on, const char *path, ffslab_paths_emit emit, void *context) {
    CALL(on, listed(path, emit, context));
}

static int64_t QUIET space(struct ffslab_paths *on, uint64_t *total, uint64_t *used) {
    DWORD free_clusters = 0;
    FATFS *volume = on->volume;
    FRESULT code = f_getfree("", &free_clusters, &volume);
    uint64_t cluster_bytes = (uint64_t)volume->csize * on->device.program_bytes;
    *total = (uint64_t)(volume->n_fatent - 2) * cluster_bytes;
    *used = *total - free_clusters * cluster_bytes;
    return told(code, -5);
}

/* Bytes. */
int64_t QUIET ffslab_paths_space(struct ffslab_paths *on, uint64_t *total, uint64_t *used) { CALL(on, space(on, total, used)); }

int64_t QUIET ffslab_paths_gc(struct ffslab_paths *on) {
    (void)on;
    return -38;
}
