/* A toy with the interface of Dhara: each sector has an erase block of its own, whose last written page is its content. When the block is
 * full it is erased, so that a power cut can take the sector. */
#include "map.h"
#include <string.h>

void dhara_map_init(struct dhara_map *m, const struct dhara_nand *n, uint8_t *page_buf, uint8_t gc_ratio) {
    memset(page_buf, 0, (size_t)1 << n->log2_page_size);
    m->journal.nand = n;
    m->gc_ratio = gc_ratio;
}

int dhara_map_resume(struct dhara_map *m, dhara_error_t *err) {
    if (!dhara_nand_is_free(m->journal.nand, 0)) return 0;
    dhara_set_error(err, DHARA_E_TOO_BAD);
    return -1;
}

dhara_sector_t dhara_map_capacity(const struct dhara_map *m) { return m->journal.nand->num_blocks; }

int dhara_map_read(struct dhara_map *m, dhara_sector_t s, uint8_t *data, dhara_error_t *err) {
    const struct dhara_nand *n = m->journal.nand;
    dhara_page_t end = prepare_head(&m->journal, s);
    if (end == 0) {
        memset(data, 0xFF, (size_t)1 << n->log2_page_size);
        return 0;
    }
    return dhara_nand_read(n, (s << n->log2_ppb) + end - 1, 0, (size_t)1 << n->log2_page_size, data, err);
}

int dhara_map_gc(struct dhara_map *m, dhara_block_t block, dhara_error_t *err) { return dhara_nand_erase(m->journal.nand, block, err); }

int dhara_map_write(struct dhara_map *m, dhara_sector_t s, const uint8_t *data, dhara_error_t *err) {
    const struct dhara_nand *n = m->journal.nand;
    dhara_page_t end = prepare_head(&m->journal, s);
    if (end == 1u << n->log2_ppb) {
        if (dhara_map_gc(m, s, err) < 0) return -1;
        end = 0;
    }
    return dhara_nand_prog(n, (s << n->log2_ppb) + end, data, err);
}

int dhara_map_trim(struct dhara_map *m, dhara_sector_t s, dhara_error_t *err) {
    (void)err;
    return s < dhara_map_capacity(m) ? 0 : -1;
}

int dhara_map_sync(struct dhara_map *m, dhara_error_t *err) {
    (void)m;
    (void)err;
    return 0;
}
