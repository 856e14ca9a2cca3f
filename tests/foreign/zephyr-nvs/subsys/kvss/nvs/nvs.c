/* A stand-in with the interface of Zephyr's NVS, written from its documentation (doc/services/storage/nvs/nvs.rst) and its format: the same
 * bytes on flash and the same garbage collection. It has no cache, and no check sums of values. */
#include <errno.h>
#include <string.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/kvss/nvs.h>
#include <zephyr/sys/crc.h>

#include "nvs_priv.h"

#include <zephyr/logging/log.h>
LOG_MODULE_REGISTER(stand_in_nvs, CONFIG_NVS_LOG_LEVEL);

static size_t nvs_al_size(struct nvs_fs *fs, size_t len) {
    size_t unit = fs->flash_parameters->write_block_size;
    return (len + unit - 1) / unit * unit;
}

static size_t ate_size(struct nvs_fs *fs) { return nvs_al_size(fs, sizeof(struct nvs_ate)); }

static uint32_t behind(struct nvs_fs *fs, uint32_t sector) { return (sector + 1) % fs->sector_count; }

static uint32_t before(struct nvs_fs *fs, uint32_t sector) { return (sector + fs->sector_count - 1) % fs->sector_count; }

/* The entry that closes a sector (0), and the others from the first on. */
static uint32_t entry_place(struct nvs_fs *fs, uint32_t sector, uint32_t number) {
    return sector << 16 | (fs->sector_size - (number + 1) * (uint32_t)ate_size(fs));
}

static off_t flash_place(struct nvs_fs *fs, uint32_t place) { return fs->offset + (off_t)SECTOR_OF(place) * fs->sector_size + OFFSET_OF(place); }

static int nvs_flash_rd(struct nvs_fs *fs, uint32_t place, void *into, size_t len) {
    return flash_read(fs->flash_device, flash_place(fs, place), into, len);
}

static int put(struct nvs_fs *fs, uint32_t place, const void *data, size_t len) {
    uint8_t last[32];
    size_t rest = len % fs->flash_parameters->write_block_size;
    int rc = len > rest ? flash_write(fs->flash_device, flash_place(fs, place), data, len - rest) : 0;
    if (rc || !rest) return rc;
    memset(last, fs->flash_parameters->erase_value, sizeof last);
    memcpy(last, (const uint8_t *)data + len - rest, rest);
    return flash_write(fs->flash_device, flash_place(fs, place) + (off_t)(len - rest), last, fs->flash_parameters->write_block_size);
}

static bool is_entry(struct nvs_fs *fs, const struct nvs_ate *ate) {
    return crc8_ccitt(0xFF, ate, offsetof(struct nvs_ate, crc8)) == ate->crc8 && ate->offset < fs->sector_size - ate_size(fs);
}

/* Where the last entry of a closed sector is; 0: it is open. */
static uint32_t closed_at(struct nvs_fs *fs, uint32_t sector) {
    struct nvs_ate close;
    if (nvs_flash_rd(fs, entry_place(fs, sector, 0), &close, sizeof close)) return 0;
    bool holds = is_entry(fs, &close) && close.id == NOBODY && close.len == 0 && (fs->sector_size - close.offset) % ate_size(fs) == 0;
    return holds ? close.offset : 0;
}

static bool is_blank(struct nvs_fs *fs, uint32_t place, size_t len) {
    uint8_t piece[32];
    for (size_t at = 0, bytes; at < len; at += bytes) {
        bytes = MIN(sizeof piece, len - at);
        if (nvs_flash_rd(fs, place + (uint32_t)at, piece, bytes)) return false;
        for (size_t byte = 0; byte < bytes; byte++) {
            if (piece[byte] != fs->flash_parameters->erase_value) return false;
        }
    }
    return true;
}

static int nvs_flash_erase_sector(struct nvs_fs *fs, uint32_t sector) {
    int rc = flash_erase(fs->flash_device, flash_place(fs, sector << 16), fs->sector_size);
    return rc ? rc : is_blank(fs, sector << 16, fs->sector_size) ? 0 : -ENXIO;
}

static int add(struct nvs_fs *fs, uint32_t *place, uint16_t id, uint32_t offset, size_t len) {
    struct nvs_ate ate = {.id = id, .offset = (uint16_t)offset, .len = (uint16_t)len, .part = 0xFF};
    ate.crc8 = crc8_ccitt(0xFF, &ate, offsetof(struct nvs_ate, crc8));
    int rc = put(fs, *place, &ate, sizeof ate);
    *place -= (uint32_t)ate_size(fs);
    return rc;
}

static int nvs_add_gc_done_ate(struct nvs_fs *fs) { return add(fs, &fs->ate_wra, NOBODY, OFFSET_OF(fs->data_wra), 0); }

/* From the place of the next entry to the oldest one, and to that place again. */
static int nvs_prev_ate(struct nvs_fs *fs, uint32_t *addr, struct nvs_ate *ate) {
    int rc = nvs_flash_rd(fs, *addr, ate, sizeof *ate);
    *addr += (uint32_t)ate_size(fs);
    if (*addr == entry_place(fs, SECTOR_OF(*addr), 0)) {
        uint32_t sector = before(fs, SECTOR_OF(*addr)), last = closed_at(fs, sector);
        *addr = last ? sector << 16 | last : fs->ate_wra;
    }
    return rc;
}

/* The newest entry of a number; 0: there is none. */
static int newest(struct nvs_fs *fs, uint16_t id, struct nvs_ate *ate, uint32_t *where) {
    uint32_t at = fs->ate_wra;
    do {
        *where = at;
        int rc = nvs_prev_ate(fs, &at, ate);
        if (rc) return rc;
        if (*where != fs->ate_wra && ate->id == id && is_entry(fs, ate)) return 1;
    } while (at != fs->ate_wra);
    return 0;
}

static int nvs_flash_wrt_entry(struct nvs_fs *fs, uint16_t id, const void *data, size_t len) {
    int rc = put(fs, fs->data_wra, data, len);
    if (!rc) rc = add(fs, &fs->ate_wra, id, OFFSET_OF(fs->data_wra), len);
    fs->data_wra += (uint32_t)nvs_al_size(fs, len);
    return rc;
}

static int moved(struct nvs_fs *fs, uint32_t from, const struct nvs_ate *ate) {
    uint8_t piece[32];
    uint32_t offset = OFFSET_OF(fs->data_wra);
    for (size_t at = 0, bytes; at < ate->len; at += bytes) {
        bytes = MIN(sizeof piece, ate->len - at);
        int rc = nvs_flash_rd(fs, (from & 0xFFFF0000) + ate->offset + (uint32_t)at, piece, bytes);
        if (!rc) rc = put(fs, fs->data_wra, piece, bytes);
        if (rc) return rc;
        fs->data_wra += (uint32_t)nvs_al_size(fs, bytes);
    }
    return add(fs, &fs->ate_wra, ate->id, offset, ate->len);
}

/* What counts of the sector behind the new one comes into that, and then it is erased, also if it was not in use. */
static int nvs_gc(struct nvs_fs *fs) {
    uint32_t from = behind(fs, SECTOR_OF(fs->ate_wra)), last = closed_at(fs, from);
    for (uint32_t at = from << 16 | last; last && at < entry_place(fs, from, 0); at += (uint32_t)ate_size(fs)) {
        struct nvs_ate ate, found;
        uint32_t where;
        int rc = nvs_flash_rd(fs, at, &ate, sizeof ate);
        if (rc) return rc;
        if (!is_entry(fs, &ate) || ate.len == 0) continue;
        rc = newest(fs, ate.id, &found, &where);
        if (rc >= 0) rc = where == at ? moved(fs, at, &ate) : 0;
        if (rc) return rc;
    }
    int rc = nvs_add_gc_done_ate(fs);
    return rc ? rc : nvs_flash_erase_sector(fs, from);
}

static int nvs_sector_close(struct nvs_fs *fs) {
    uint32_t sector = SECTOR_OF(fs->ate_wra), place = entry_place(fs, sector, 0), next = behind(fs, sector);
    uint32_t last = OFFSET_OF(fs->ate_wra) + (uint32_t)ate_size(fs);
    fs->ate_wra = entry_place(fs, next, 1);
    fs->data_wra = next << 16;
    return add(fs, &place, NOBODY, last, 0);
}

/* The last entry of the sector that is written, and where its data end; what is torn is left as it is. */
static int last_entry(struct nvs_fs *fs, uint32_t sector, bool *is_done) {
    fs->ate_wra = entry_place(fs, sector, 1);
    fs->data_wra = sector << 16;
    *is_done = false;
    for (uint32_t at = fs->ate_wra; at > fs->data_wra; at -= (uint32_t)ate_size(fs)) {
        struct nvs_ate ate;
        int rc = nvs_flash_rd(fs, at, &ate, sizeof ate);
        if (rc) return rc;
        if (!is_entry(fs, &ate)) continue;
        *is_done |= ate.id == NOBODY && ate.len == 0;
        fs->data_wra = (sector << 16) + ate.offset + (uint32_t)nvs_al_size(fs, ate.len);
        fs->ate_wra = at - (uint32_t)ate_size(fs);
    }
    while (fs->ate_wra > fs->data_wra && !is_blank(fs, fs->ate_wra, ate_size(fs))) fs->ate_wra -= (uint32_t)ate_size(fs);
    while (fs->data_wra < fs->ate_wra && !is_blank(fs, fs->data_wra, fs->ate_wra - fs->data_wra)) {
        fs->data_wra += fs->flash_parameters->write_block_size;
    }
    return 0;
}

/* The open sector behind a closed one; the last if it alone has entries, and else the first. */
static uint32_t written(struct nvs_fs *fs) {
    for (uint32_t sector = 0; sector < fs->sector_count; sector++) {
        if (closed_at(fs, sector) && !closed_at(fs, behind(fs, sector))) return behind(fs, sector);
    }
    struct nvs_ate first;
    uint32_t last = fs->sector_count - 1u;
    return nvs_flash_rd(fs, entry_place(fs, last, 1), &first, sizeof first) == 0 && is_entry(fs, &first) ? last : 0;
}

int nvs_mount(struct nvs_fs *fs) {
    fs->flash_parameters = flash_get_parameters(fs->flash_device);
    k_mutex_init(&fs->nvs_lock);
    bool is_done;
    uint32_t sector = written(fs), next = behind(fs, sector);
    int rc = last_entry(fs, sector, &is_done);
    /* A collection that was cut begins anew, and an erase too; torn bytes of the first write stand in no closed sector. */
    if (!rc && !is_blank(fs, next << 16, fs->sector_size)) {
        if (is_done || !closed_at(fs, next)) {
            rc = nvs_flash_erase_sector(fs, next);
        } else {
            rc = nvs_flash_erase_sector(fs, sector);
            fs->ate_wra = entry_place(fs, sector, 1);
            fs->data_wra = sector << 16;
            if (!rc) rc = nvs_gc(fs);
        }
    }
    if (!rc && fs->ate_wra == entry_place(fs, sector, 1)) rc = nvs_add_gc_done_ate(fs);
    fs->ready = !rc;
    LOG_INF("%d sectors", fs->sector_count);
    return rc;
}

static int is_same(struct nvs_fs *fs, uint16_t id, const void *data, size_t len) {
    struct nvs_ate ate;
    uint32_t where;
    uint8_t piece[32];
    int rc = newest(fs, id, &ate, &where);
    if (rc <= 0 || ate.len != len) return rc < 0 ? rc : rc == 0 && len == 0;
    for (size_t at = 0, bytes; at < len; at += bytes) {
        bytes = MIN(sizeof piece, len - at);
        rc = nvs_flash_rd(fs, (where & 0xFFFF0000) + ate.offset + (uint32_t)at, piece, bytes);
        if (rc || memcmp(piece, (const uint8_t *)data + at, bytes)) return rc;
    }
    return 1;
}

ssize_t nvs_write(struct nvs_fs *fs, uint16_t id, const void *data, size_t len) {
    if (len > fs->sector_size - 4 * ate_size(fs)) return -EINVAL;
    int rc = is_same(fs, id, data, len);
    if (rc) return rc < 0 ? rc : 0;
    /* The last place of a sector stays free for a deletion. */
    uint32_t needed = len ? (uint32_t)(nvs_al_size(fs, len) + ate_size(fs)) : 0;
    k_mutex_lock(&fs->nvs_lock, K_FOREVER);
    for (int tries = 0; !rc; tries++) {
        if (fs->ate_wra >= fs->data_wra + needed) {
            rc = nvs_flash_wrt_entry(fs, id, data, len);
            break;
        }
        rc = tries == fs->sector_count ? -ENOSPC : nvs_sector_close(fs);
        if (!rc) rc = nvs_gc(fs);
    }
    k_mutex_unlock(&fs->nvs_lock);
    return rc ? rc : (ssize_t)len;
}

int nvs_delete(struct nvs_fs *fs, uint16_t id) { return (int)nvs_write(fs, id, NULL, 0); }

ssize_t nvs_read(struct nvs_fs *fs, uint16_t id, void *data, size_t len) {
    struct nvs_ate ate;
    uint32_t where;
    int rc = newest(fs, id, &ate, &where);
    if (rc <= 0 || ate.len == 0) return rc < 0 ? rc : -ENOENT;
    rc = nvs_flash_rd(fs, (where & 0xFFFF0000) + ate.offset, data, MIN(len, ate.len));
    return rc ? rc : ate.len;
}
