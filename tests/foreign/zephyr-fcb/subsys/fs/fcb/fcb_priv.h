/* Of a stand-in with the interface of Zephyr's FCB: what a sector begins with. */
#ifndef STAND_IN_FCB_PRIV_H
#define STAND_IN_FCB_PRIV_H

struct fcb_disk_area {
    uint32_t fd_magic;
    uint8_t fd_ver;
    uint8_t _pad;
    uint16_t fd_id;
};

int fcb_erase_sector(const struct fcb *fcb, const struct flash_sector *sector);
int fcb_sector_hdr_init(struct fcb *fcb, struct flash_sector *sector, uint16_t id);

#endif
