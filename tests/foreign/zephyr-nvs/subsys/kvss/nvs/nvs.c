/* A toy with the interface of Zephyr's NVS: one sector holds all, as records that follow each other; when it is full, what counts is
 * copied into the next one. */
#include <errno.h>
#include <string.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/kvss/nvs.h>
#include <zephyr/sys/crc.h>

#include "nvs_priv.h"

#include <zephyr/logging/log.h>
LOG_MODULE_REGISTER(toy_nvs, CONFIG_NVS_LOG_LEVEL);

#define OFFSET(addr) ((addr)&0xFFFF)
#define SECTOR(addr) ((addr) >> 16)

static size_t nvs_al_size(struct nvs_fs *fs, size_t len) {
    size_t unit = fs->flash_parameters->write_block_size;
    return (len + unit - 1) / unit * unit;
}

static off_t place(struct nvs_fs *fs, uint32_t addr) { return fs->offset + (off_t)SECTOR(addr) * fs->sector_size + OFFSET(addr); }

static int nvs_flash_rd(struct nvs_fs *fs, uint32_t addr, void *data, size_t len) {
    return flash_read(fs->flash_device, place(fs, addr), data, len);
}

static uint32_t behind(struct nvs_fs *fs, uint32_t addr, const struct nvs_ate *ate) {
    return addr + nvs_al_size(fs, sizeof *ate) + nvs_al_size(fs, ate->len);
}

static bool is_valid(struct nvs_fs *fs, uint32_t addr, const struct nvs_ate *ate) {
    return crc8_ccitt(0xFF, ate, offsetof(struct nvs_ate, crc8)) == ate->crc8 && OFFSET(behind(fs, addr, ate)) <= fs->sector_size;
}

/* From the place of the next record to the oldest record, and on to that place again. */
static int nvs_prev_ate(struct nvs_fs *fs, uint32_t *addr, struct nvs_ate *ate) {
    uint32_t first = fs->ate_wra & 0xFFFF0000;
    uint32_t at = *addr;
    int rc = 0;
    memset(ate, 0xFF, sizeof *ate);
    if (at != fs->ate_wra) {
        rc = nvs_flash_rd(fs, at, ate, sizeof *ate);
        *addr = behind(fs, at, ate);
    } else {
        *addr = first + sizeof(struct toy_head);
    }
    return rc;
}

/* Where the newest record of a number is; 0: there is none. */
static int found(struct nvs_fs *fs, uint16_t id, uint32_t *where, struct nvs_ate *newest) {
    uint32_t addr = fs->ate_wra;
    *where = 0;
    do {
        struct nvs_ate ate;
        uint32_t at = addr;
        int rc = nvs_prev_ate(fs, &addr, &ate);
        if (rc) return rc;
        if (at != fs->ate_wra && ate.id == id) {
            *where = at + nvs_al_size(fs, sizeof ate);
            *newest = ate;
        }
    } while (addr != fs->ate_wra);
    return 0;
}

static int nvs_flash_erase_sector(struct nvs_fs *fs, uint32_t sector) {
    return flash_erase(fs->flash_device, place(fs, sector << 16), fs->sector_size);
}

static int padded(struct nvs_fs *fs, uint32_t addr, const void *data, size_t len) {
    uint8_t buffer[64];
    size_t unit = fs->flash_parameters->write_block_size, whole = len / unit * unit;
    int rc = flash_write(fs->flash_device, place(fs, addr), data, whole);
    if (rc || whole == len) return rc;
    memset(buffer, fs->flash_parameters->erase_value, sizeof buffer);
    memcpy(buffer, (const uint8_t *)data + whole, len - whole);
    return flash_write(fs->flash_device, place(fs, addr + whole), buffer, unit);
}

static int nvs_flash_wrt_entry(struct nvs_fs *fs, uint16_t id, const void *data, size_t len) {
    struct nvs_ate ate = {.id = id, .len = (uint16_t)len, .part = 0xFF};
    uint32_t at = fs->ate_wra;
    ate.crc8 = crc8_ccitt(0xFF, &ate, offsetof(struct nvs_ate, crc8));
    int rc = padded(fs, at + nvs_al_size(fs, sizeof ate), data, len);
    if (!rc) rc = padded(fs, at, &ate, sizeof ate);
    fs->ate_wra = behind(fs, at, &ate);
    return rc;
}

static int headed(struct nvs_fs *fs, uint32_t sector, uint32_t generation) {
    struct toy_head head = {generation, ~generation};
    return padded(fs, sector << 16, &head, sizeof head);
}

static uint32_t generation_of(struct nvs_fs *fs, uint32_t sector) {
    struct toy_head head;
    if (nvs_flash_rd(fs, sector << 16, &head, sizeof head) || head.turned != ~head.generation) return 0;
    return head.generation;
}

static int nvs_gc(struct nvs_fs *fs) {
    uint32_t from = SECTOR(fs->ate_wra), to = (from + 1) % fs->sector_count, end = fs->ate_wra;
    uint32_t at = (from << 16) + sizeof(struct toy_head), next = (to << 16) + sizeof(struct toy_head);
    uint8_t data[4096];
    while (at != end) {
        struct nvs_ate ate, newest;
        uint32_t where;
        int rc = nvs_flash_rd(fs, at, &ate, sizeof ate);
        if (!rc) rc = found(fs, ate.id, &where, &newest);
        if (rc) return rc;
        if (where == at + nvs_al_size(fs, sizeof ate) && ate.len > 0) {
            rc = nvs_flash_rd(fs, where, data, ate.len);
            fs->ate_wra = next;
            if (!rc) rc = nvs_flash_wrt_entry(fs, ate.id, data, ate.len);
            next = fs->ate_wra;
            fs->ate_wra = end;
            if (rc) return rc;
        }
        at = behind(fs, at, &ate);
    }
    int rc = headed(fs, to, generation_of(fs, from) + 1);
    fs->ate_wra = next;
    return rc ? rc : nvs_flash_erase_sector(fs, from);
}

static bool is_blank(struct nvs_fs *fs, uint32_t addr) {
    uint8_t buffer[256];
    uint32_t left = fs->sector_size - OFFSET(addr);
    for (uint32_t bytes; left > 0; addr += bytes, left -= bytes) {
        bytes = MIN(left, sizeof buffer);
        if (nvs_flash_rd(fs, addr, buffer, bytes)) return false;
        for (uint32_t at = 0; at < bytes; at++) {
            if (buffer[at] != fs->flash_parameters->erase_value) return false;
        }
    }
    return true;
}

/* The newest sector holds all; what else is there is left from a power cut. */
int nvs_mount(struct nvs_fs *fs) {
    uint32_t newest = 0, generation = 0;
    fs->flash_parameters = flash_get_parameters(fs->flash_device);
    k_mutex_init(&fs->nvs_lock);
    for (uint32_t sector = 0; sector < fs->sector_count; sector++) {
        uint32_t of = generation_of(fs, sector);
        if (of > generation) newest = sector, generation = of;
    }
    for (uint32_t sector = 0; sector < fs->sector_count; sector++) {
        if ((generation && sector == newest) || is_blank(fs, sector << 16)) continue;
        int rc = nvs_flash_erase_sector(fs, sector);
        if (rc) return rc;
    }
    if (!generation) {
        int rc = headed(fs, newest, 1);
        if (rc) return rc;
    }
    struct nvs_ate ate;
    for (fs->ate_wra = (newest << 16) + sizeof(struct toy_head);; fs->ate_wra = behind(fs, fs->ate_wra, &ate)) {
        int rc = nvs_flash_rd(fs, fs->ate_wra, &ate, sizeof ate);
        if (rc) return rc;
        if (!is_valid(fs, fs->ate_wra, &ate)) break;
    }
    fs->ready = true;
    LOG_INF("%d sectors", fs->sector_count);
    return is_blank(fs, fs->ate_wra) ? 0 : nvs_gc(fs);
}

ssize_t nvs_write(struct nvs_fs *fs, uint16_t id, const void *data, size_t len) {
    struct nvs_ate ate;
    uint32_t where;
    int rc = found(fs, id, &where, &ate);
    if (rc || (len == 0 && !where)) return rc;
    k_mutex_lock(&fs->nvs_lock, K_FOREVER);
    for (int tries = 0; !rc; tries++) {
        size_t needed = nvs_al_size(fs, sizeof ate) + nvs_al_size(fs, len);
        /* The last bytes stay free, so that a record never ends in the next sector. */
        if (OFFSET(fs->ate_wra) + needed + 2 * sizeof ate <= fs->sector_size) {
            rc = nvs_flash_wrt_entry(fs, id, data, len);
            break;
        }
        rc = tries ? -ENOSPC : nvs_gc(fs);
    }
    k_mutex_unlock(&fs->nvs_lock);
    return rc ? rc : (ssize_t)len;
}

int nvs_delete(struct nvs_fs *fs, uint16_t id) { return (int)nvs_write(fs, id, NULL, 0); }

ssize_t nvs_read(struct nvs_fs *fs, uint16_t id, void *data, size_t len) {
    struct nvs_ate ate;
    uint32_t where;
    int rc = found(fs, id, &where, &ate);
    if (rc) return rc;
    if (!where || ate.len == 0) return -ENOENT;
    rc = nvs_flash_rd(fs, where, data, MIN(len, ate.len));
    return rc ? rc : ate.len;
}
