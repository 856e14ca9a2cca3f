/* A toy with the interface of FatFs: see ff.h. */
#include "ff.h"
#include "diskio.h"
#include <string.h>

#define FILES 16
#define RUN 4 /* sectors of a file */
#define SIGN 0x46595554

struct entry {
    char name[24];
    DWORD size;
    DWORD is_there;
};

struct directory {
    DWORD sign;
    struct entry entries[FILES];
};

static FATFS *FatFs[FF_VOLUMES];

static FATFS *volume(void) { return FatFs[0]; }
static struct directory *held(void) { return (struct directory *)volume()->win; }
static LBA_t sector_of(const FIL *file, FSIZE_t at) { return 3 + file->number * RUN + at / volume()->ssize; }

static FRESULT move_window(LBA_t sector) { return disk_read(0, volume()->win, sector, 1) == RES_OK ? FR_OK : FR_DISK_ERR; }
static FRESULT sync_window(LBA_t sector) { return disk_write(0, volume()->win, sector, 1) == RES_OK ? FR_OK : FR_DISK_ERR; }

/* The number of a name; FILES: none has it. */
static UINT dir_find(const TCHAR *path) {
    UINT number = 0;
    if (move_window(1) != FR_OK) return FILES;
    while (number < FILES && (!held()->entries[number].is_there || strcmp(held()->entries[number].name, path + 1))) number++;
    return number;
}

/* The table is written, as if clusters had been taken. */
static FRESULT put_fat(void) { return sync_window(2); }

FRESULT f_open(FIL *file, const TCHAR *path, BYTE mode) {
    if (strchr(path + 1, '/')) return FR_NO_PATH;
    if (strlen(path) > sizeof held()->entries[0].name) return FR_INVALID_NAME;
    UINT number = dir_find(path);
    if (number < FILES && (mode & FA_CREATE_NEW)) return FR_EXIST;
    if (number == FILES) {
        if (!(mode & (FA_CREATE_NEW | FA_CREATE_ALWAYS | FA_OPEN_ALWAYS))) return FR_NO_FILE;
        for (number = 0; number < FILES && held()->entries[number].is_there;) number++;
        if (number == FILES) return FR_DENIED;
        held()->entries[number] = (struct entry){.is_there = 1};
        strcpy(held()->entries[number].name, path + 1);
        if (sync_window(1) != FR_OK) return FR_DISK_ERR;
    }
    file->number = number;
    file->flag = mode;
    file->fptr = 0;
    f_size(file) = mode & FA_CREATE_ALWAYS ? 0 : held()->entries[number].size;
    return FR_OK;
}

FRESULT f_sync(FIL *file) {
    if (!(file->flag & FA_WRITE)) return FR_OK;
    if (move_window(1) != FR_OK) return FR_DISK_ERR;
    held()->entries[file->number].size = f_size(file);
    if (sync_window(1) != FR_OK || put_fat() != FR_OK) return FR_DISK_ERR;
    return disk_ioctl(0, CTRL_SYNC, 0) == RES_OK ? FR_OK : FR_DISK_ERR;
}

FRESULT f_close(FIL *file) { return f_sync(file); }

/* Passes bytes of a file sector by sector, through its buffer. */
static FRESULT passed(FIL *file, BYTE *into, const BYTE *data, UINT bytes) {
    WORD ss = volume()->ssize;
    while (bytes > 0) {
        UINT start = file->fptr % ss, part = ss - start < bytes ? ss - start : bytes;
        if (disk_read(0, file->buf, sector_of(file, file->fptr), 1) != RES_OK) return FR_DISK_ERR;
        if (into) memcpy(into, file->buf + start, part);
        else memcpy(file->buf + start, data, part);
        if (!into && disk_write(0, file->buf, sector_of(file, file->fptr), 1) != RES_OK) return FR_DISK_ERR;
        into = into ? into + part : into;
        data = data ? data + part : data;
        file->fptr += part;
        bytes -= part;
    }
    return FR_OK;
}

FRESULT f_read(FIL *file, void *into, UINT bytes, UINT *read) {
    *read = f_size(file) - file->fptr < bytes ? f_size(file) - file->fptr : bytes;
    return passed(file, into, 0, *read);
}

FRESULT f_write(FIL *file, const void *data, UINT bytes, UINT *wrote) {
    FSIZE_t room = (FSIZE_t)RUN * volume()->ssize - file->fptr;
    *wrote = room < bytes ? room : bytes;
    FRESULT code = passed(file, 0, data, *wrote);
    if (f_size(file) < file->fptr) f_size(file) = file->fptr;
    return code;
}

FRESULT f_lseek(FIL *file, FSIZE_t at) {
    file->fptr = at;
    return FR_OK;
}

FRESULT f_truncate(FIL *file) {
    f_size(file) = file->fptr;
    return FR_OK;
}

FRESULT f_opendir(DIR *directory, const TCHAR *path) {
    directory->next = 0;
    return path[1] ? FR_NO_PATH : FR_OK;
}

FRESULT f_closedir(DIR *directory) {
    directory->next = FILES;
    return FR_OK;
}

static void get_fileinfo(const struct entry *entry, FILINFO *info) {
    memset(info, 0, sizeof *info);
    info->fsize = entry->size;
    strcpy(info->fname, entry->name);
}

FRESULT f_readdir(DIR *directory, FILINFO *info) {
    info->fname[0] = 0;
    if (move_window(1) != FR_OK) return FR_DISK_ERR;
    while (directory->next < FILES && !held()->entries[directory->next].is_there) directory->next++;
    if (directory->next < FILES) get_fileinfo(&held()->entries[directory->next++], info);
    return FR_OK;
}

FRESULT f_stat(const TCHAR *path, FILINFO *info) {
    UINT number = dir_find(path);
    if (number == FILES) return FR_NO_FILE;
    get_fileinfo(&held()->entries[number], info);
    return FR_OK;
}

FRESULT f_mkdir(const TCHAR *path) { return path ? FR_DENIED : FR_INT_ERR; }

FRESULT f_unlink(const TCHAR *path) {
    UINT number = dir_find(path);
    if (number == FILES) return FR_NO_FILE;
    held()->entries[number].is_there = 0;
    return sync_window(1);
}

FRESULT f_rename(const TCHAR *from, const TCHAR *to) {
    UINT number = dir_find(from);
    if (number == FILES) return FR_NO_FILE;
    if (dir_find(to) < FILES) return FR_EXIST;
    strcpy(held()->entries[number].name, to + 1);
    return sync_window(1);
}

FRESULT f_getfree(const TCHAR *path, DWORD *clusters, FATFS **found) {
    (void)path;
    *found = volume();
    *clusters = FILES;
    return move_window(1);
}

FRESULT f_mount(FATFS *fs, const TCHAR *path, BYTE now) {
    (void)path;
    (void)now;
    FatFs[0] = fs;
    if (!fs) return FR_OK;
    if (disk_ioctl(0, GET_SECTOR_SIZE, &fs->ssize) != RES_OK || move_window(1) != FR_OK) return FR_DISK_ERR;
    fs->fatbase = 2;
    fs->n_fats = 1;
    fs->fsize = 1;
    fs->csize = RUN;
    fs->n_fatent = FILES + 2;
    return held()->sign == SIGN ? FR_OK : FR_NO_FILESYSTEM;
}

FRESULT f_mkfs(const TCHAR *path, const MKFS_PARM *how, void *work, UINT bytes) {
    (void)path;
    if (how->n_fat == 0 || bytes < sizeof(struct directory)) return FR_MKFS_ABORTED;
    memset(work, 0, bytes);
    ((struct directory *)work)->sign = SIGN;
    return disk_write(0, work, 1, 1) == RES_OK && disk_ioctl(0, CTRL_SYNC, 0) == RES_OK ? FR_OK : FR_DISK_ERR;
}
