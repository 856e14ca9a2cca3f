/* Dhara on a chip of libffslab: the functions of dhara/nand.h. Include it in one source file.
 *
 *     struct ffslab_dhara nand;
 *     ffslab_dhara_init(&nand, chip);
 *     dhara_map_init(&map, &nand.dhara, page_buffer, gc_ratio);
 *
 * A page is free if its bytes read as erased: one read, as ports without access to out-of-band bytes do. */
#ifndef FFSLAB_DHARA_H
#define FFSLAB_DHARA_H

#include <ffslab.h>
#include <dhara/nand.h>
#include <stdlib.h>

struct ffslab_dhara {
    struct dhara_nand dhara; /* the first member: Dhara's functions get its address */
    ffslab_chip *chip;
};

static inline ffslab_chip *ffslab_dhara_chip(const struct dhara_nand *n) { return ((const struct ffslab_dhara *)n)->chip; }
static inline uint64_t ffslab_dhara_page(const struct dhara_nand *n, dhara_page_t p) { return (uint64_t)p << n->log2_page_size; }
static inline uint64_t ffslab_dhara_block(const struct dhara_nand *n, dhara_block_t b) {
    return (uint64_t)b << (n->log2_page_size + n->log2_ppb);
}

static inline int ffslab_dhara_answer(int code, dhara_error_t *err) {
    if (code >= 0) return 0;
    dhara_set_error(err, code == FFSLAB_EECC ? DHARA_E_ECC : DHARA_E_BAD_BLOCK);
    return -1;
}

/* FFSLAB_ENOTSUP: Dhara needs pages, and powers of two. */
static inline int ffslab_dhara_init(struct ffslab_dhara *nand, ffslab_chip *chip) {
    struct ffslab_geometry of;
    int code = ffslab_geometry(chip, &of);
    if (code < 0) return code;
    uint32_t pages = of.erase_block_B / of.program_B;
    if (of.program_B < 512 || (of.program_B & (of.program_B - 1)) || (pages & (pages - 1))) return FFSLAB_ENOTSUP;
    nand->chip = chip;
    for (nand->dhara.log2_page_size = 0; 1u << nand->dhara.log2_page_size < of.program_B;) nand->dhara.log2_page_size++;
    for (nand->dhara.log2_ppb = 0; 1u << nand->dhara.log2_ppb < pages;) nand->dhara.log2_ppb++;
    nand->dhara.num_blocks = of.blocks;
    return FFSLAB_OK;
}

int dhara_nand_is_bad(const struct dhara_nand *n, dhara_block_t b) {
    return ffslab_is_bad(ffslab_dhara_chip(n), ffslab_dhara_block(n, b)) != 0;
}

void dhara_nand_mark_bad(const struct dhara_nand *n, dhara_block_t b) {
    (void)ffslab_mark_bad(ffslab_dhara_chip(n), ffslab_dhara_block(n, b));
}

int dhara_nand_erase(const struct dhara_nand *n, dhara_block_t b, dhara_error_t *err) {
    return ffslab_dhara_answer(ffslab_erase(ffslab_dhara_chip(n), ffslab_dhara_block(n, b)), err);
}

int dhara_nand_prog(const struct dhara_nand *n, dhara_page_t p, const uint8_t *data, dhara_error_t *err) {
    size_t bytes = (size_t)1 << n->log2_page_size;
    return ffslab_dhara_answer(ffslab_program(ffslab_dhara_chip(n), ffslab_dhara_page(n, p), data, bytes), err);
}

int dhara_nand_read(const struct dhara_nand *n, dhara_page_t p, size_t offset, size_t length, uint8_t *data, dhara_error_t *err) {
    return ffslab_dhara_answer(ffslab_read(ffslab_dhara_chip(n), ffslab_dhara_page(n, p) + offset, data, length), err);
}

int dhara_nand_is_free(const struct dhara_nand *n, dhara_page_t p) {
    size_t bytes = (size_t)1 << n->log2_page_size;
    uint8_t *page = (uint8_t *)malloc(bytes);
    int is_free = page && ffslab_read(ffslab_dhara_chip(n), ffslab_dhara_page(n, p), page, bytes) >= 0;
    for (size_t i = 0; is_free && i < bytes; i++) is_free = page[i] == 0xFF;
    free(page);
    return is_free;
}

int dhara_nand_copy(const struct dhara_nand *n, dhara_page_t src, dhara_page_t dst, dhara_error_t *err) {
    size_t bytes = (size_t)1 << n->log2_page_size;
    uint8_t *page = (uint8_t *)malloc(bytes);
    int done = -1;
    if (!page) dhara_set_error(err, DHARA_E_BAD_BLOCK);
    else if (!dhara_nand_read(n, src, 0, bytes, page, err)) done = dhara_nand_prog(n, dst, page, err);
    free(page);
    return done;
}

#endif
