/* Of a stand-in with the interface of Zephyr's FCB. */
#ifndef STAND_IN_FCB_H
#define STAND_IN_FCB_H

#include <inttypes.h>
#include <zephyr/kernel.h>
#include <zephyr/storage/flash_map.h>

#define FCB_MAX_LEN 0x3FFF

struct fcb_entry {
    struct flash_sector *fe_sector;
    uint32_t fe_elem_off;
    uint32_t fe_data_off;
    uint16_t fe_data_len;
};

struct fcb {
    uint32_t f_magic;
    uint8_t f_version;
    uint8_t f_sector_cnt;
    uint8_t f_scratch_cnt;
    struct flash_sector *f_sectors;
    struct k_mutex f_mtx;
    struct flash_sector *f_oldest;
    struct fcb_entry f_active; /* its offset is that of the next entry */
    uint16_t f_active_id;
    uint8_t f_align;
    const struct flash_area *fap;
    uint8_t f_erase_value;
};

int fcb_init(int f_area_id, struct fcb *fcb);
int fcb_append(struct fcb *fcb, uint16_t len, struct fcb_entry *loc);
int fcb_append_finish(struct fcb *fcb, struct fcb_entry *append_loc);
int fcb_append_to_scratch(struct fcb *fcb);
int fcb_getnext(struct fcb *fcb, struct fcb_entry *loc);
int fcb_rotate(struct fcb *fcb);
int fcb_free_sector_cnt(struct fcb *fcb);

#endif
