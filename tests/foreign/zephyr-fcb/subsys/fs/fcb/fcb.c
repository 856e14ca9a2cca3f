/* A stand-in with the interface of Zephyr's FCB, which leaves the same bytes on flash: sectors with a header, and behind it entries of a
 * length, data and a check sum, each in whole units of what is written at once. All of it is in this file. */
#include <errno.h>
#include <string.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/fs/fcb.h>
#include <zephyr/sys/crc.h>

#include "fcb_priv.h"

static uint32_t whole(const struct fcb *fcb, uint32_t bytes) { return (bytes + fcb->f_align - 1) / fcb->f_align * fcb->f_align; }

static uint32_t first(const struct fcb *fcb) { return whole(fcb, sizeof(struct fcb_disk_area)); }

static struct flash_sector *next(const struct fcb *fcb, const struct flash_sector *sector) {
    return &fcb->f_sectors[(sector - fcb->f_sectors + 1) % fcb->f_sector_cnt];
}

static int get(const struct fcb *fcb, const struct flash_sector *sector, uint32_t at, void *into, size_t len) {
    if (at + len > sector->fs_size) return -EINVAL;
    return flash_area_read(fcb->fap, sector->fs_off + at, into, len) ? -EIO : 0;
}

int fcb_erase_sector(const struct fcb *fcb, const struct flash_sector *sector) {
    return flash_area_flatten(fcb->fap, sector->fs_off, sector->fs_size) ? -EIO : 0;
}

int fcb_sector_hdr_init(struct fcb *fcb, struct flash_sector *sector, uint16_t id) {
    struct fcb_disk_area head = {fcb->f_magic, fcb->f_version, fcb->f_erase_value, id};
    uint8_t bytes[32];
    memset(bytes, fcb->f_erase_value, sizeof bytes);
    memcpy(bytes, &head, sizeof head);
    if (flash_area_write(fcb->fap, sector->fs_off, bytes, first(fcb))) return -EIO;
    fcb->f_active.fe_sector = sector;
    fcb->f_active.fe_elem_off = first(fcb);
    fcb->f_active_id = id;
    return 0;
}

/* Where the data of an entry are; ENOTSUP: there is none. */
static int data_of(const struct fcb *fcb, struct fcb_entry *loc, uint8_t *sum) {
    uint8_t length[2], piece[32];
    if (loc->fe_elem_off + 2 > loc->fe_sector->fs_size) return -ENOTSUP;
    if (get(fcb, loc->fe_sector, loc->fe_elem_off, length, 2)) return -EIO;
    if (length[0] == 0xFF && length[1] == 0xFF) return -ENOTSUP;
    int bytes = length[0] & 0x80 ? 2 : 1;
    loc->fe_data_off = loc->fe_elem_off + whole(fcb, bytes);
    loc->fe_data_len = (uint16_t)(length[0] & 0x7F) | (bytes == 2 ? length[1] << 7 : 0);
    *sum = crc8_ccitt(CRC8_CCITT_INITIAL_VALUE, length, bytes);
    for (uint32_t at = 0, len; at < loc->fe_data_len; at += len) {
        len = MIN(sizeof piece, loc->fe_data_len - at);
        if (get(fcb, loc->fe_sector, loc->fe_data_off + at, piece, len)) return -EIO;
        *sum = crc8_ccitt(*sum, piece, len);
    }
    return 0;
}

/* EBADMSG: it was not finished. */
static int checked(const struct fcb *fcb, struct fcb_entry *loc) {
    uint8_t sum, stored;
    int rc = data_of(fcb, loc, &sum);
    if (!rc) rc = get(fcb, loc->fe_sector, loc->fe_data_off + whole(fcb, loc->fe_data_len), &stored, 1) ? -EIO : 0;
    return rc ? rc : stored == sum ? 0 : -EBADMSG;
}

static uint32_t behind(const struct fcb *fcb, const struct fcb_entry *loc) {
    return loc->fe_data_off + whole(fcb, loc->fe_data_len) + whole(fcb, 1);
}

int fcb_getnext(struct fcb *fcb, struct fcb_entry *loc) {
    bool is_begin = loc->fe_elem_off == 0;
    if (!loc->fe_sector) loc->fe_sector = fcb->f_oldest;
    if (is_begin) {
        loc->fe_elem_off = first(fcb);
    } else if (checked(fcb, loc) != -ENOTSUP) {
        loc->fe_elem_off = behind(fcb, loc);
    }
    for (;;) {
        int rc = checked(fcb, loc);
        if (rc == 0) return 0;
        if (rc == -EBADMSG) {
            loc->fe_elem_off = behind(fcb, loc);
            continue;
        }
        if (loc->fe_sector == fcb->f_active.fe_sector) return -ENOTSUP;
        loc->fe_sector = next(fcb, loc->fe_sector);
        loc->fe_elem_off = first(fcb);
    }
}

int fcb_init(int f_area_id, struct fcb *fcb) {
    int oldest = -1, newest = -1;
    if (flash_area_open((uint8_t)f_area_id, &fcb->fap)) return -EINVAL;
    fcb->f_erase_value = flash_get_parameters(fcb->fap->fa_dev)->erase_value;
    fcb->f_align = (uint8_t)flash_area_align(fcb->fap);
    for (int sector = 0; sector < fcb->f_sector_cnt; sector++) {
        struct fcb_disk_area head;
        if (get(fcb, &fcb->f_sectors[sector], 0, &head, sizeof head)) return -EIO;
        if (head.fd_magic == 0xFFFFFFFF) continue;
        if (head.fd_magic != fcb->f_magic) return -ENOMSG;
        if (oldest < 0 || (int16_t)(head.fd_id - newest) > 0) {
            newest = head.fd_id;
            fcb->f_active.fe_sector = &fcb->f_sectors[sector];
        }
        if (oldest < 0 || (int16_t)(oldest - head.fd_id) > 0) {
            oldest = head.fd_id;
            fcb->f_oldest = &fcb->f_sectors[sector];
        }
    }
    k_mutex_init(&fcb->f_mtx);
    if (oldest < 0) {
        fcb->f_oldest = fcb->f_sectors;
        return fcb_sector_hdr_init(fcb, fcb->f_sectors, 0);
    }
    fcb->f_active_id = (uint16_t)newest;
    struct fcb_entry *at = &fcb->f_active;
    at->fe_elem_off = first(fcb);
    int rc;
    while ((rc = checked(fcb, at)) == 0 || rc == -EBADMSG) at->fe_elem_off = behind(fcb, at);
    return rc == -ENOTSUP ? 0 : rc;
}

int fcb_free_sector_cnt(struct fcb *fcb) {
    int count = 0;
    for (struct flash_sector *at = next(fcb, fcb->f_active.fe_sector); at != fcb->f_oldest && count < fcb->f_sector_cnt; at = next(fcb, at)) count++;
    return count;
}

int fcb_append_to_scratch(struct fcb *fcb) {
    if (fcb_free_sector_cnt(fcb) < 1) return -ENOSPC;
    return fcb_sector_hdr_init(fcb, next(fcb, fcb->f_active.fe_sector), fcb->f_active_id + 1);
}

int fcb_append(struct fcb *fcb, uint16_t len, struct fcb_entry *loc) {
    uint8_t length[32];
    uint32_t bytes = len < 0x80 ? 1 : 2, all = whole(fcb, bytes) + whole(fcb, len) + whole(fcb, 1);
    if (len > FCB_MAX_LEN) return -EINVAL;
    memset(length, fcb->f_erase_value, sizeof length);
    length[0] = (uint8_t)(len < 0x80 ? len : (len & 0x7F) | 0x80);
    if (bytes == 2) length[1] = (uint8_t)(len >> 7);
    k_mutex_lock(&fcb->f_mtx, K_FOREVER);
    if (fcb->f_active.fe_elem_off + all > fcb->f_active.fe_sector->fs_size) {
        if (fcb_free_sector_cnt(fcb) <= fcb->f_scratch_cnt || first(fcb) + all > fcb->f_active.fe_sector->fs_size) return -ENOSPC;
        int rc = fcb_append_to_scratch(fcb);
        if (rc) return rc;
    }
    *loc = fcb->f_active;
    loc->fe_data_off = loc->fe_elem_off + whole(fcb, bytes);
    if (flash_area_write(fcb->fap, loc->fe_sector->fs_off + loc->fe_elem_off, length, whole(fcb, bytes))) return -EIO;
    fcb->f_active.fe_elem_off += all;
    k_mutex_unlock(&fcb->f_mtx);
    return 0;
}

int fcb_append_finish(struct fcb *fcb, struct fcb_entry *append_loc) {
    uint8_t end[32];
    memset(end, 0xFF, sizeof end);
    int rc = data_of(fcb, append_loc, end);
    off_t at = append_loc->fe_sector->fs_off + append_loc->fe_data_off + whole(fcb, append_loc->fe_data_len);
    return rc ? rc : flash_area_write(fcb->fap, at, end, fcb->f_align);
}

int fcb_rotate(struct fcb *fcb) {
    struct flash_sector *oldest = fcb->f_oldest;
    int rc = fcb_erase_sector(fcb, oldest);
    if (!rc && oldest == fcb->f_active.fe_sector) rc = fcb_sector_hdr_init(fcb, next(fcb, oldest), fcb->f_active_id + 1);
    fcb->f_oldest = next(fcb, oldest);
    return rc;
}
