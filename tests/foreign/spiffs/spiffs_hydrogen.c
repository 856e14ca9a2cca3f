#include "spiffs_nucleus.h"

s32_t spiffs_object_find_object_index_header_by_name(spiffs *fs, const char *name, struct toy_header *header);
s32_t spiffs_object_read(spiffs *fs, spiffs_fd *fd);
s32_t spiffs_object_update_index_hdr(spiffs *fs, u32_t block, struct toy_header *header);
s32_t spiffs_object_modify(spiffs *fs, spiffs_fd *fd, struct toy_header *header);

static s32_t toy_failed(spiffs *fs, s32_t code) {
    if (code < 0) fs->err_code = code;
    return code;
}

static spiffs_fd *toy_open_files(spiffs *fs) { return (spiffs_fd *)fs->space; }

s32_t SPIFFS_mount(
    spiffs *fs, spiffs_config *config, u8_t *work, u8_t *fd_space, u32_t fd_space_size, void *cache, u32_t cache_size, void *check) {
    u32_t word;
    (void)work, (void)fd_space_size, (void)cache, (void)cache_size, (void)check;
    fs->cfg = *config;
    fs->space = fd_space;
    /* The last block says that there is a file system. */
    fs->count = config->phys_size / config->log_block_size - 1;
    s32_t code = config->hal_read_f(fs, fs->count * config->log_block_size, sizeof word, (u8_t *)&word);
    if (code < 0 || word != 0x70795370) return toy_failed(fs, code < 0 ? code : SPIFFS_ERR_NOT_A_FS);
    fs->mounted = 1;
    return SPIFFS_OK;
}

void SPIFFS_unmount(spiffs *fs) { fs->mounted = 0; }

s32_t SPIFFS_format(spiffs *fs) {
    u32_t word = 0x70795370, block = fs->cfg.log_block_size;
    for (u32_t number = 0; number <= fs->count; number++) {
        s32_t code = fs->cfg.hal_erase_f(fs, number * block, block);
        if (code < 0) return toy_failed(fs, code);
    }
    return toy_failed(fs, fs->cfg.hal_write_f(fs, fs->count * block, sizeof word, (u8_t *)&word));
}

s32_t SPIFFS_check(spiffs *fs) { return fs->mounted ? SPIFFS_OK : SPIFFS_ERR_NOT_MOUNTED; }

spiffs_file SPIFFS_open(spiffs *fs, const char *path, spiffs_flags flags, spiffs_mode mode) {
    struct toy_header header;
    s16_t file = 0;
    (void)mode;
    while (toy_open_files(fs)[file].is_open) {
        if (++file == 16) return (spiffs_file)toy_failed(fs, SPIFFS_ERR_OUT_OF_FILE_DESCS);
    }
    spiffs_fd *fd = &toy_open_files(fs)[file];
    s32_t block = spiffs_object_find_object_index_header_by_name(fs, path, &header);
    if (block >= 0 && (flags & SPIFFS_EXCL) && (flags & SPIFFS_CREAT)) return (spiffs_file)toy_failed(fs, SPIFFS_ERR_FILE_EXISTS);
    if (block == SPIFFS_ERR_NOT_FOUND && (flags & SPIFFS_CREAT)) {
        block = spiffs_object_find_object_index_header_by_name(fs, NULL, &header);
        if (block >= 0) {
            memset(&header, 0, sizeof header);
            strncpy((char *)header.name, path, SPIFFS_OBJ_NAME_LEN - 1);
            s32_t code = spiffs_object_update_index_hdr(fs, (u32_t)block, &header);
            block = code < 0 ? code : block;
        }
    }
    if (block < 0) return (spiffs_file)toy_failed(fs, block);
    fd->block = (u32_t)block;
    fd->size = flags & SPIFFS_TRUNC ? 0 : header.size;
    fd->at = 0;
    fd->is_changed = (flags & SPIFFS_TRUNC) != 0;
    s32_t code = spiffs_object_read(fs, fd);
    fd->is_open = code >= 0;
    return (spiffs_file)(code < 0 ? toy_failed(fs, code) : file);
}

s32_t SPIFFS_fflush(spiffs *fs, spiffs_file fh) {
    struct toy_header header;
    spiffs_fd *fd = &toy_open_files(fs)[fh];
    if (!fd->is_changed) return SPIFFS_OK;
    s32_t code = fs->cfg.hal_read_f(fs, fd->block * fs->cfg.log_block_size, sizeof header, (u8_t *)&header);
    code = code < 0 ? code : spiffs_object_modify(fs, fd, &header);
    fd->is_changed = code < 0;
    return toy_failed(fs, code);
}

s32_t SPIFFS_close(spiffs *fs, spiffs_file fh) {
    s32_t code = SPIFFS_fflush(fs, fh);
    toy_open_files(fs)[fh].is_open = 0;
    return code;
}

s32_t SPIFFS_read(spiffs *fs, spiffs_file fh, void *buf, s32_t len) {
    spiffs_fd *fd = &toy_open_files(fs)[fh];
    memcpy(buf, fd->data + fd->at, (size_t)len);
    fd->at += (u32_t)len;
    return len;
}

s32_t SPIFFS_write(spiffs *fs, spiffs_file fh, void *buf, s32_t len) {
    spiffs_fd *fd = &toy_open_files(fs)[fh];
    if (fd->at + (u32_t)len > TOY_BYTES_MAX) return toy_failed(fs, SPIFFS_ERR_FULL);
    memcpy(fd->data + fd->at, buf, (size_t)len);
    fd->at += (u32_t)len;
    fd->size = fd->at > fd->size ? fd->at : fd->size;
    fd->is_changed = 1;
    return len;
}

s32_t SPIFFS_lseek(spiffs *fs, spiffs_file fh, s32_t offs, int whence) {
    (void)whence;
    toy_open_files(fs)[fh].at = (u32_t)offs;
    return offs;
}

s32_t SPIFFS_tell(spiffs *fs, spiffs_file fh) { return (s32_t)toy_open_files(fs)[fh].at; }

s32_t SPIFFS_fstat(spiffs *fs, spiffs_file fh, spiffs_stat *s) {
    s->size = toy_open_files(fs)[fh].size;
    return SPIFFS_OK;
}

s32_t SPIFFS_stat(spiffs *fs, const char *path, spiffs_stat *s) {
    struct toy_header header;
    s32_t block = spiffs_object_find_object_index_header_by_name(fs, path, &header);
    if (block < 0) return toy_failed(fs, block);
    s->size = header.size;
    memcpy(s->name, header.name, sizeof s->name);
    return SPIFFS_OK;
}

s32_t SPIFFS_remove(spiffs *fs, const char *path) {
    struct toy_header header;
    s32_t block = spiffs_object_find_object_index_header_by_name(fs, path, &header);
    return toy_failed(fs, block < 0 ? block : fs->cfg.hal_erase_f(fs, (u32_t)block * fs->cfg.log_block_size, fs->cfg.log_block_size));
}

s32_t SPIFFS_rename(spiffs *fs, const char *old, const char *new) {
    struct toy_header header;
    spiffs_fd moved = {0};
    if (spiffs_object_find_object_index_header_by_name(fs, new, &header) >= 0) return toy_failed(fs, SPIFFS_ERR_CONFLICTING_NAME);
    s32_t block = spiffs_object_find_object_index_header_by_name(fs, old, &header);
    if (block < 0) return toy_failed(fs, block);
    moved.block = (u32_t)block;
    moved.size = header.size;
    s32_t code = spiffs_object_read(fs, &moved);
    memset(header.name, 0, sizeof header.name);
    strncpy((char *)header.name, new, SPIFFS_OBJ_NAME_LEN - 1);
    return toy_failed(fs, code < 0 ? code : spiffs_object_modify(fs, &moved, &header));
}

spiffs_DIR *SPIFFS_opendir(spiffs *fs, const char *name, spiffs_DIR *d) {
    (void)name;
    d->fs = fs;
    d->block = 0;
    return d;
}

struct spiffs_dirent *SPIFFS_readdir(spiffs_DIR *d, struct spiffs_dirent *e) {
    struct toy_header header;
    while (d->block < d->fs->count) {
        u32_t at = d->block++ * d->fs->cfg.log_block_size;
        if (toy_failed(d->fs, d->fs->cfg.hal_read_f(d->fs, at, sizeof header, (u8_t *)&header)) < 0) return NULL;
        if (header.size != SPIFFS_UNDEFINED_LEN) {
            e->size = header.size;
            memcpy(e->name, header.name, sizeof e->name);
            return e;
        }
    }
    return NULL;
}

s32_t SPIFFS_closedir(spiffs_DIR *d) {
    (void)d;
    return SPIFFS_OK;
}

s32_t SPIFFS_info(spiffs *fs, u32_t *total, u32_t *used) {
    struct spiffs_dirent entry;
    spiffs_DIR directory;
    *total = fs->count * fs->cfg.log_block_size;
    *used = 0;
    SPIFFS_opendir(fs, "/", &directory);
    while (SPIFFS_readdir(&directory, &entry)) *used += fs->cfg.log_block_size;
    return SPIFFS_OK;
}

s32_t SPIFFS_gc_quick(spiffs *fs, u16_t max_free_pages) {
    (void)fs, (void)max_free_pages;
    return SPIFFS_OK;
}

s32_t SPIFFS_errno(spiffs *fs) { return fs->err_code; }

void SPIFFS_clearerr(spiffs *fs) { fs->err_code = SPIFFS_OK; }
