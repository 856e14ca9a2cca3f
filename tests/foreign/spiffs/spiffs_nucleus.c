#include "spiffs_nucleus.h"

static s32_t toy_header_of(spiffs *fs, u32_t block, struct toy_header *header) {
    return fs->cfg.hal_read_f(fs, block * fs->cfg.log_block_size, sizeof *header, (u8_t *)header);
}

/* The block of a name; of NULL the first that has none. */
s32_t spiffs_object_find_object_index_header_by_name(spiffs *fs, const char *name, struct toy_header *header) {
    for (u32_t block = 0; block < fs->count; block++) {
        s32_t code = toy_header_of(fs, block, header);
        if (code < 0) return code;
        u8_t is_free = header->size == SPIFFS_UNDEFINED_LEN;
        if (name ? !is_free && !strncmp((char *)header->name, name, SPIFFS_OBJ_NAME_LEN) : is_free) return (s32_t)block;
    }
    return name ? SPIFFS_ERR_NOT_FOUND : SPIFFS_ERR_FULL;
}

s32_t spiffs_object_read(spiffs *fs, spiffs_fd *fd) {
    /* A power cut can have torn the header. */
    if (fd->size > TOY_BYTES_MAX) return SPIFFS_ERR_INTERNAL;
    return fd->size ? fs->cfg.hal_read_f(fs, fd->block * fs->cfg.log_block_size + sizeof(struct toy_header), fd->size, fd->data) : SPIFFS_OK;
}

s32_t spiffs_object_update_index_hdr(spiffs *fs, u32_t block, struct toy_header *header) {
    return fs->cfg.hal_write_f(fs, block * fs->cfg.log_block_size, sizeof *header, (u8_t *)header);
}

s32_t spiffs_object_modify(spiffs *fs, spiffs_fd *fd, struct toy_header *header) {
    u32_t at = fd->block * fs->cfg.log_block_size;
    s32_t code = fs->cfg.hal_erase_f(fs, at, fs->cfg.log_block_size);
    if (code >= 0 && fd->size) code = fs->cfg.hal_write_f(fs, at + sizeof *header, fd->size, fd->data);
    header->size = fd->size;
    return code < 0 ? code : spiffs_object_update_index_hdr(fs, fd->block, header);
}
