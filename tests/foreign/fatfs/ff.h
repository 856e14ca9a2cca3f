/* A toy with the interface of FatFs R0.16, which itself stands in no registry: one directory in sector 1, a table in sector 2 that it only
 * writes, and a fixed run of sectors for each file. It is configured by ffconf.h, as FatFs is. */
#ifndef FF_DEFINED
#define FF_DEFINED 12345

#if !defined(FFCONF_DEF)
#include "ffconf.h"
#endif
#if FF_DEFINED != FFCONF_DEF
#error Wrong configuration file (ffconf.h).
#endif

#include <stdint.h>
typedef unsigned int UINT;
typedef unsigned char BYTE;
typedef uint16_t WORD;
typedef uint32_t DWORD;
typedef uint16_t WCHAR;
typedef char TCHAR;
typedef DWORD FSIZE_t;
typedef DWORD LBA_t;

#define FS_FAT32 3

typedef struct {
    BYTE fs_type, n_fats;
    WORD csize, ssize;
    DWORD n_fatent, fsize;
    LBA_t volbase, fatbase;
    BYTE win[FF_MAX_SS];
} FATFS;

typedef struct {
    struct {
        DWORD objsize;
    } obj;
    BYTE flag;
    UINT number;
    FSIZE_t fptr;
    BYTE buf[FF_MAX_SS];
} FIL;

typedef struct {
    UINT next;
} DIR;

typedef struct {
    FSIZE_t fsize;
    BYTE fattrib;
    TCHAR fname[FF_LFN_BUF + 1];
} FILINFO;

typedef struct {
    BYTE fmt, n_fat;
    UINT align, n_root;
    DWORD au_size;
} MKFS_PARM;

typedef enum {
    FR_OK,
    FR_DISK_ERR,
    FR_INT_ERR,
    FR_NOT_READY,
    FR_NO_FILE,
    FR_NO_PATH,
    FR_INVALID_NAME,
    FR_DENIED,
    FR_EXIST,
    FR_INVALID_OBJECT,
    FR_WRITE_PROTECTED,
    FR_INVALID_DRIVE,
    FR_NOT_ENABLED,
    FR_NO_FILESYSTEM,
    FR_MKFS_ABORTED,
    FR_TIMEOUT,
    FR_LOCKED,
    FR_NOT_ENOUGH_CORE,
    FR_TOO_MANY_OPEN_FILES,
    FR_INVALID_PARAMETER
} FRESULT;

#define FA_READ 0x01
#define FA_WRITE 0x02
#define FA_CREATE_NEW 0x04
#define FA_CREATE_ALWAYS 0x08
#define FA_OPEN_ALWAYS 0x10
#define FM_ANY 0x07
#define FM_SFD 0x08
#define AM_DIR 0x10

#define f_size(file) ((file)->obj.objsize)
#define f_tell(file) ((file)->fptr)

FRESULT f_open(FIL *file, const TCHAR *path, BYTE mode);
FRESULT f_close(FIL *file);
FRESULT f_read(FIL *file, void *into, UINT bytes, UINT *read);
FRESULT f_write(FIL *file, const void *data, UINT bytes, UINT *wrote);
FRESULT f_lseek(FIL *file, FSIZE_t at);
FRESULT f_truncate(FIL *file);
FRESULT f_sync(FIL *file);
FRESULT f_opendir(DIR *directory, const TCHAR *path);
FRESULT f_closedir(DIR *directory);
FRESULT f_readdir(DIR *directory, FILINFO *info);
FRESULT f_mkdir(const TCHAR *path);
FRESULT f_unlink(const TCHAR *path);
FRESULT f_rename(const TCHAR *from, const TCHAR *to);
FRESULT f_stat(const TCHAR *path, FILINFO *info);
FRESULT f_getfree(const TCHAR *path, DWORD *clusters, FATFS **volume);
FRESULT f_mount(FATFS *volume, const TCHAR *path, BYTE now);
FRESULT f_mkfs(const TCHAR *path, const MKFS_PARM *how, void *work, UINT bytes);

#endif
