/* SPIFFS on a chip of libffslab: the functions of spiffs_config.
 *
 *     spiffs_config config = { .log_page_size = 256 };
 *     ffslab_spiffs_config(&config, &fs, chip);
 *     SPIFFS_mount(&fs, &config, work, fds, sizeof fds, cache, sizeof cache, NULL);
 *
 * Only for NOR: SPIFFS clears bits of pages that it has programmed. With SPIFFS_HAL_CALLBACK_EXTRA the chip stands in fs->user_data,
 * without it there is one chip in each source file that includes this header. */
#ifndef FFSLAB_SPIFFS_H
#define FFSLAB_SPIFFS_H

#include <ffslab.h>
#include <spiffs.h>

static inline s32_t ffslab_spiffs_answer(int code) { return code >= 0 ? SPIFFS_OK : SPIFFS_ERR_INTERNAL; }

static inline int ffslab_spiffs_erased(ffslab_chip *chip, uint64_t at, uint64_t bytes) {
    struct ffslab_geometry of;
    int code = ffslab_geometry(chip, &of);
    for (uint64_t end = at + bytes; code >= 0 && at < end; at += of.erase_block_B) code = ffslab_erase(chip, at);
    return code;
}

#if SPIFFS_HAL_CALLBACK_EXTRA
#define FFSLAB_SPIFFS_ARGS_ struct spiffs_t *fs,
#define FFSLAB_SPIFFS_CHIP_ ((ffslab_chip *)fs->user_data)
#else
static ffslab_chip *ffslab_spiffs_chip;
#define FFSLAB_SPIFFS_ARGS_
#define FFSLAB_SPIFFS_CHIP_ ffslab_spiffs_chip
#endif

static inline s32_t ffslab_spiffs_read(FFSLAB_SPIFFS_ARGS_ u32_t addr, u32_t size, u8_t *dst) {
    return ffslab_spiffs_answer(ffslab_read(FFSLAB_SPIFFS_CHIP_, addr, dst, size));
}

static inline s32_t ffslab_spiffs_write(FFSLAB_SPIFFS_ARGS_ u32_t addr, u32_t size, u8_t *src) {
    return ffslab_spiffs_answer(ffslab_program(FFSLAB_SPIFFS_CHIP_, addr, src, size));
}

static inline s32_t ffslab_spiffs_erase(FFSLAB_SPIFFS_ARGS_ u32_t addr, u32_t size) {
    return ffslab_spiffs_answer(ffslab_spiffs_erased(FFSLAB_SPIFFS_CHIP_, addr, size));
}

/* Fills in the device functions, and each size that is 0: the whole partition, blocks of an erase block, pages of 256 bytes. Sizes are not
 * set in a build with SPIFFS_SINGLETON, where macros say them. Returns a code of libffslab. */
static inline int ffslab_spiffs_config(spiffs_config *c, spiffs *fs, ffslab_chip *chip) {
    struct ffslab_geometry of;
    int code = ffslab_geometry(chip, &of);
    if (code < 0) return code;
    if (!of.clears_bits_again) return FFSLAB_ENOTSUP;
    c->hal_read_f = ffslab_spiffs_read;
    c->hal_write_f = ffslab_spiffs_write;
    c->hal_erase_f = ffslab_spiffs_erase;
#if SPIFFS_HAL_CALLBACK_EXTRA
    fs->user_data = chip;
#else
    (void)fs;
    ffslab_spiffs_chip = chip;
#endif
#if !SPIFFS_SINGLETON
    if (!c->phys_size) c->phys_size = (u32_t)of.size_B;
    if (!c->phys_erase_block) c->phys_erase_block = of.erase_block_B;
    if (!c->log_block_size) c->log_block_size = of.erase_block_B;
    if (!c->log_page_size) c->log_page_size = 256;
#endif
    return FFSLAB_OK;
}

#endif
