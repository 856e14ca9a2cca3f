/* A file system with the calls of SPIFFS, for tests of what connects it: each file has an erase block of its own, which is erased and
 * written when the file is flushed. It shares declarations with SPIFFS, and nothing else. */
#ifndef TOY_SPIFFS_H
#define TOY_SPIFFS_H

#include "spiffs_config.h"

#define SPIFFS_OK 0
#define SPIFFS_ERR_NOT_MOUNTED -10000
#define SPIFFS_ERR_FULL -10001
#define SPIFFS_ERR_NOT_FOUND -10002
#define SPIFFS_ERR_OUT_OF_FILE_DESCS -10006
#define SPIFFS_ERR_FILE_CLOSED -10009
#define SPIFFS_ERR_BAD_DESCRIPTOR -10010
#define SPIFFS_ERR_NOT_WRITABLE -10021
#define SPIFFS_ERR_NOT_READABLE -10022
#define SPIFFS_ERR_CONFLICTING_NAME -10023
#define SPIFFS_ERR_NOT_CONFIGURED -10024
#define SPIFFS_ERR_NOT_A_FS -10025
#define SPIFFS_ERR_ERASE_FAIL -10027
#define SPIFFS_ERR_FILE_EXISTS -10030
#define SPIFFS_ERR_NAME_TOO_LONG -10036
#define SPIFFS_ERR_INTERNAL -10050

#define SPIFFS_TRUNC 2
#define SPIFFS_CREAT 4
#define SPIFFS_RDONLY 8
#define SPIFFS_WRONLY 16
#define SPIFFS_RDWR 24
#define SPIFFS_EXCL 64
#define SPIFFS_SEEK_SET 0

typedef s16_t spiffs_file;
typedef u16_t spiffs_flags;
typedef u16_t spiffs_mode;
typedef u8_t spiffs_obj_type;

struct spiffs_t;
typedef s32_t (*spiffs_read)(struct spiffs_t *fs, u32_t addr, u32_t size, u8_t *dst);
typedef s32_t (*spiffs_write)(struct spiffs_t *fs, u32_t addr, u32_t size, u8_t *src);
typedef s32_t (*spiffs_erase)(struct spiffs_t *fs, u32_t addr, u32_t size);

typedef struct {
    spiffs_read hal_read_f;
    spiffs_write hal_write_f;
    spiffs_erase hal_erase_f;
    u32_t phys_size, phys_addr, phys_erase_block, log_block_size, log_page_size;
} spiffs_config;

typedef struct spiffs_t {
    spiffs_config cfg;
    u8_t *space;
    u32_t count;
    s32_t err_code;
    u8_t mounted;
} spiffs;

typedef struct {
    u32_t size;
    u8_t name[SPIFFS_OBJ_NAME_LEN];
} spiffs_stat;

struct spiffs_dirent {
    u8_t name[SPIFFS_OBJ_NAME_LEN];
    u32_t size;
};

typedef struct {
    spiffs *fs;
    u32_t block;
} spiffs_DIR;

s32_t SPIFFS_mount(
    spiffs *fs, spiffs_config *config, u8_t *work, u8_t *fd_space, u32_t fd_space_size, void *cache, u32_t cache_size, void *check);
void SPIFFS_unmount(spiffs *fs);
s32_t SPIFFS_format(spiffs *fs);
s32_t SPIFFS_check(spiffs *fs);
spiffs_file SPIFFS_open(spiffs *fs, const char *path, spiffs_flags flags, spiffs_mode mode);
s32_t SPIFFS_close(spiffs *fs, spiffs_file fh);
s32_t SPIFFS_read(spiffs *fs, spiffs_file fh, void *buf, s32_t len);
s32_t SPIFFS_write(spiffs *fs, spiffs_file fh, void *buf, s32_t len);
s32_t SPIFFS_lseek(spiffs *fs, spiffs_file fh, s32_t offs, int whence);
s32_t SPIFFS_tell(spiffs *fs, spiffs_file fh);
s32_t SPIFFS_fflush(spiffs *fs, spiffs_file fh);
s32_t SPIFFS_fstat(spiffs *fs, spiffs_file fh, spiffs_stat *s);
s32_t SPIFFS_stat(spiffs *fs, const char *path, spiffs_stat *s);
s32_t SPIFFS_remove(spiffs *fs, const char *path);
s32_t SPIFFS_rename(spiffs *fs, const char *old, const char *new);
spiffs_DIR *SPIFFS_opendir(spiffs *fs, const char *name, spiffs_DIR *d);
struct spiffs_dirent *SPIFFS_readdir(spiffs_DIR *d, struct spiffs_dirent *e);
s32_t SPIFFS_closedir(spiffs_DIR *d);
s32_t SPIFFS_info(spiffs *fs, u32_t *total, u32_t *used);
s32_t SPIFFS_gc_quick(spiffs *fs, u16_t max_free_pages);
s32_t SPIFFS_errno(spiffs *fs);
void SPIFFS_clearerr(spiffs *fs);

#endif
