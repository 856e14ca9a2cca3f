/* Zephyr's flash API on a chip of libffslab, for code that calls flash_read(), flash_write(), flash_erase() on a device: NVS, FCB over a flash
 * area, littlefs through a flash area. Include it in one source file; zephyr/device.h and zephyr/drivers/flash.h are your tree's.
 *
 *     const struct device *flash = ffslab_zephyr_flash(chip);
 *     struct nvs_fs fs = { .flash_device = flash, .offset = 0, .sector_size = 4096, .sector_count = 8 };
 *     nvs_mount(&fs);
 *
 * The device is a driver as any other: its functions stand in struct flash_driver_api, so that what your tree does between a call and a
 * driver stays as it is. One chip in each program. A page of Zephyr is an erase block; what is written is a multiple of
 * FFSLAB_ZEPHYR_WRITE_BLOCK_B bytes on NOR (4 if you do not say otherwise) and of a page on NAND. */
#ifndef FFSLAB_ZEPHYR_FLASH_H
#define FFSLAB_ZEPHYR_FLASH_H

#include <errno.h>
#include <ffslab.h>
#include <zephyr/device.h>
#include <zephyr/drivers/flash.h>

#ifndef FFSLAB_ZEPHYR_WRITE_BLOCK_B
#define FFSLAB_ZEPHYR_WRITE_BLOCK_B 4
#endif

static ffslab_chip *ffslab_zephyr_chip;
static struct ffslab_geometry ffslab_zephyr_geometry;

static inline int ffslab_zephyr_answer(int code) {
    if (code >= 0) return 0;
    return code == FFSLAB_ERANGE || code == FFSLAB_EALIGN || code == FFSLAB_EINPUT ? -EINVAL : -EIO;
}

static inline size_t ffslab_zephyr_write_block(void) {
    return ffslab_zephyr_geometry.program_B > 1 ? ffslab_zephyr_geometry.program_B : FFSLAB_ZEPHYR_WRITE_BLOCK_B;
}

/* Bytes that are no multiple of `unit`, or reach beyond the device, are refused as drivers do. */
static inline int ffslab_zephyr_check(off_t offset, size_t bytes, size_t unit) {
    uint64_t size = ffslab_zephyr_geometry.size_B;
    if (!ffslab_zephyr_chip) return -ENODEV;
    if (offset < 0 || (uint64_t)offset > size || bytes > size - (uint64_t)offset) return -EINVAL;
    return (uint64_t)offset % unit || bytes % unit ? -EINVAL : 0;
}

static int ffslab_zephyr_read(const struct device *dev, off_t offset, void *data, size_t len) {
    (void)dev;
    int code = ffslab_zephyr_check(offset, len, 1);
    return code || !len ? code : ffslab_zephyr_answer(ffslab_read(ffslab_zephyr_chip, (uint64_t)offset, data, len));
}

static int ffslab_zephyr_write(const struct device *dev, off_t offset, const void *data, size_t len) {
    (void)dev;
    int code = ffslab_zephyr_check(offset, len, ffslab_zephyr_write_block());
    return code || !len ? code : ffslab_zephyr_answer(ffslab_program(ffslab_zephyr_chip, (uint64_t)offset, data, len));
}

static int ffslab_zephyr_erase(const struct device *dev, off_t offset, size_t size) {
    (void)dev;
    uint32_t block = ffslab_zephyr_geometry.erase_block_B;
    int code = ffslab_zephyr_check(offset, size, block ? block : 1);
    for (size_t done = 0; !code && done < size; done += block) {
        code = ffslab_zephyr_answer(ffslab_erase(ffslab_zephyr_chip, (uint64_t)offset + done));
    }
    return code;
}

static const struct flash_parameters *ffslab_zephyr_parameters(const struct device *dev);

#ifdef CONFIG_FLASH_PAGE_LAYOUT
static struct flash_pages_layout ffslab_zephyr_layout;

static void ffslab_zephyr_pages(const struct device *dev, const struct flash_pages_layout **layout, size_t *layout_size) {
    (void)dev;
    ffslab_zephyr_layout.pages_count = ffslab_zephyr_geometry.blocks;
    ffslab_zephyr_layout.pages_size = ffslab_zephyr_geometry.erase_block_B;
    *layout = &ffslab_zephyr_layout;
    *layout_size = 1;
}
#endif

/* A function for the size of a device came with Zephyr 4; without it the pages say it. */
static const struct flash_driver_api ffslab_zephyr_api = {
    .read = ffslab_zephyr_read,
    .write = ffslab_zephyr_write,
    .erase = ffslab_zephyr_erase,
    .get_parameters = ffslab_zephyr_parameters,
#ifdef CONFIG_FLASH_PAGE_LAYOUT
    .page_layout = ffslab_zephyr_pages,
#endif
};

static struct device_state ffslab_zephyr_state = { .initialized = true };
static const struct device ffslab_zephyr_device = {
    .name = "ffslab",
    .api = &ffslab_zephyr_api,
    .state = &ffslab_zephyr_state,
};

static const struct flash_parameters *ffslab_zephyr_parameters(const struct device *dev) {
    /* The block of NOR is a constant of the build; a page is one of the few sizes that NAND has. */
    static const struct flash_parameters of_nor = { .write_block_size = FFSLAB_ZEPHYR_WRITE_BLOCK_B, .erase_value = 0xFF };
    static const struct flash_parameters of_nand[] = {
        { .write_block_size = 512, .erase_value = 0xFF },
        { .write_block_size = 2048, .erase_value = 0xFF },
        { .write_block_size = 4096, .erase_value = 0xFF },
        { .write_block_size = 8192, .erase_value = 0xFF },
        { .write_block_size = 16384, .erase_value = 0xFF },
    };
    (void)dev;
    for (size_t i = 0; i < sizeof of_nand / sizeof of_nand[0]; i++) {
        if (of_nand[i].write_block_size == ffslab_zephyr_geometry.program_B) return &of_nand[i];
    }
    return &of_nor;
}

/* The chip as a device. NULL: the chip does not answer, or its pages have a size that no NAND has. */
static inline const struct device *ffslab_zephyr_flash(ffslab_chip *chip) {
    if (ffslab_geometry(chip, &ffslab_zephyr_geometry) < 0) return NULL;
    ffslab_zephyr_chip = chip;
    return ffslab_zephyr_parameters(&ffslab_zephyr_device)->write_block_size == ffslab_zephyr_write_block() ? &ffslab_zephyr_device : NULL;
}

#endif
