/* A stand-in with the interface of Zephyr's ZMS, written from its documentation (doc/services/storage/zms/zms.rst): the same bytes on flash
 * and the same garbage collection. It has no cache. */
#include <errno.h>
#include <string.h>
#include <zephyr/kvss/zms.h>
#include <zephyr/sys/crc.h>

#include "zms_priv.h"

#include <zephyr/logging/log.h>
LOG_MODULE_REGISTER(stand_in_zms, CONFIG_ZMS_LOG_LEVEL);

static size_t zms_al_size(struct zms_fs *fs, size_t len) {
    size_t unit = fs->flash_parameters->write_block_size;
    return (len + unit - 1) / unit * unit;
}

static uint64_t place_of(uint32_t sector, uint64_t offset) { return (uint64_t)sector << 32 | offset; }

static uint32_t behind(struct zms_fs *fs, uint32_t sector) { return (sector + 1) % fs->sector_count; }

static uint32_t before(struct zms_fs *fs, uint32_t sector) { return (sector + fs->sector_count - 1) % fs->sector_count; }

/* Where the header of a sector is (0), the entry that closes it (1), and the others from the first on. */
static uint64_t entry_place(struct zms_fs *fs, uint32_t sector, uint32_t number) {
    return place_of(sector, fs->sector_size - (number + 1) * fs->ate_size);
}

static int get(struct zms_fs *fs, uint64_t place, void *into, size_t len) {
    return flash_read(fs->flash_device, fs->offset + (off_t)SECTOR_OF(place) * fs->sector_size + (off_t)OFFSET_OF(place), into, len);
}

static int put(struct zms_fs *fs, uint64_t place, const void *data, size_t len) {
    off_t at = fs->offset + (off_t)SECTOR_OF(place) * fs->sector_size + (off_t)OFFSET_OF(place);
    size_t rest = len % fs->flash_parameters->write_block_size;
    uint8_t last[32];
    int rc = len > rest ? flash_write(fs->flash_device, at, data, len - rest) : 0;
    if (rc || !rest) return rc;
    memset(last, fs->flash_parameters->erase_value, sizeof last);
    memcpy(last, (const uint8_t *)data + len - rest, rest);
    return flash_write(fs->flash_device, at + (off_t)(len - rest), last, fs->flash_parameters->write_block_size);
}

static uint8_t sum_of(const struct zms_ate *ate) { return crc8_ccitt(0xFF, &ate->cycle_cnt, sizeof *ate - 1); }

static bool is_entry(const struct zms_ate *ate, int cycle) { return ate->cycle_cnt == cycle && sum_of(ate) == ate->crc8; }

/* The cycle that entries of a sector have; -1: nobody knows it. */
static int cycle_of(struct zms_fs *fs, uint32_t sector) {
    struct zms_ate head;
    if (get(fs, entry_place(fs, sector, 0), &head, sizeof head)) return -1;
    return is_entry(&head, head.cycle_cnt) && head.id == NOBODY && head.len == OPEN_LEN ? head.cycle_cnt : -1;
}

/* Where the last entry of a closed sector is; 0: it is open. */
static uint32_t closed_at(struct zms_fs *fs, uint32_t sector) {
    struct zms_ate close;
    int cycle = cycle_of(fs, sector);
    if (cycle < 0 || get(fs, entry_place(fs, sector, 1), &close, sizeof close)) return 0;
    bool holds = is_entry(&close, cycle) && close.id == NOBODY && close.len == 0 && (fs->sector_size - close.offset) % fs->ate_size == 0;
    return holds ? close.offset : 0;
}

static int add(struct zms_fs *fs, uint64_t *place, struct zms_ate *ate) {
    ate->crc8 = sum_of(ate);
    int rc = put(fs, *place, ate, sizeof *ate);
    *place -= fs->ate_size;
    return rc;
}

static int zms_flash_erase_sector(struct zms_fs *fs, uint32_t sector) {
    int rc = flash_erase(fs->flash_device, fs->offset + (off_t)sector * fs->sector_size, fs->sector_size);
    uint8_t piece[32];
    for (uint32_t at = 0; !rc && at < fs->sector_size; at += sizeof piece) {
        rc = get(fs, place_of(sector, at), piece, sizeof piece);
        for (uint32_t byte = 0; byte < sizeof piece; byte++) {
            if (piece[byte] != fs->flash_parameters->erase_value) rc = -ENXIO;
        }
    }
    return rc;
}

/* `times` is what the header said of erases before; on erased flash each cycle is the first. */
static int zms_add_empty_ate(struct zms_fs *fs, uint32_t sector, uint32_t times) {
    struct zms_ate head = {.cycle_cnt = 1, .len = OPEN_LEN, .id = NOBODY, .offset = times + 1, .extra = METADATA};
    uint64_t place = entry_place(fs, sector, 0);
    return add(fs, &place, &head);
}

static int emptied(struct zms_fs *fs, uint32_t sector) {
    struct zms_ate head;
    int rc = get(fs, entry_place(fs, sector, 0), &head, sizeof head);
    uint32_t times = cycle_of(fs, sector) < 0 ? 0 : head.offset;
    if (!rc) rc = zms_flash_erase_sector(fs, sector);
    return rc ? rc : zms_add_empty_ate(fs, sector, times);
}

static int zms_add_gc_done_ate(struct zms_fs *fs) {
    struct zms_ate done = {.cycle_cnt = fs->sector_cycle, .id = NOBODY, .offset = (uint32_t)OFFSET_OF(fs->data_wra), .extra = NOBODY};
    return add(fs, &fs->ate_wra, &done);
}

/* From the place of the next entry to the oldest one, and to that place again. */
static int zms_prev_ate(struct zms_fs *fs, uint64_t *addr, struct zms_ate *ate) {
    int rc = get(fs, *addr, ate, sizeof *ate);
    *addr += fs->ate_size;
    if (*addr == entry_place(fs, SECTOR_OF(*addr), 1)) {
        uint32_t sector = before(fs, SECTOR_OF(*addr)), last = closed_at(fs, sector);
        *addr = last ? place_of(sector, last) : fs->ate_wra;
    }
    return rc;
}

/* The newest entry of a number; 0: there is none. */
static int newest(struct zms_fs *fs, zms_id_t id, struct zms_ate *ate, uint64_t *where) {
    uint64_t at = fs->ate_wra;
    do {
        *where = at;
        int rc = zms_prev_ate(fs, &at, ate);
        if (rc) return rc;
        if (*where != fs->ate_wra && ate->id == id && is_entry(ate, cycle_of(fs, SECTOR_OF(*where)))) return 1;
    } while (at != fs->ate_wra);
    return 0;
}

static int moved(struct zms_fs *fs, uint64_t from, struct zms_ate *ate) {
    uint8_t piece[32];
    uint64_t place = place_of(SECTOR_OF(from), ate->offset);
    if (ate->len > WITHIN_MAX) {
        ate->offset = (uint32_t)OFFSET_OF(fs->data_wra);
        for (size_t left = ate->len, len; left; left -= len, place += len) {
            len = MIN(left, sizeof piece);
            int rc = get(fs, place, piece, len);
            if (!rc) rc = put(fs, fs->data_wra, piece, len);
            if (rc) return rc;
            fs->data_wra += zms_al_size(fs, len);
        }
    }
    ate->cycle_cnt = fs->sector_cycle;
    return add(fs, &fs->ate_wra, ate);
}

/* What counts of the sector behind the new one comes into that, which then is the empty one. */
static int zms_gc(struct zms_fs *fs) {
    uint32_t to = SECTOR_OF(fs->ate_wra), from = behind(fs, to), at = closed_at(fs, from);
    int rc = cycle_of(fs, to) < 0 ? emptied(fs, to) : 0;
    fs->sector_cycle = (uint8_t)cycle_of(fs, to);
    for (int cycle = cycle_of(fs, from); !rc && at && at < OFFSET_OF(entry_place(fs, from, 1)); at += fs->ate_size) {
        struct zms_ate ate, last;
        uint64_t place = place_of(from, at), where;
        rc = get(fs, place, &ate, sizeof ate);
        if (rc || !is_entry(&ate, cycle) || ate.len == 0) continue;
        int found = newest(fs, ate.id, &last, &where);
        rc = found < 0 ? found : where == place ? moved(fs, place, &ate) : 0;
    }
    if (!rc) rc = zms_add_gc_done_ate(fs);
    return rc ? rc : emptied(fs, from);
}

/* Places for entries that are not used are written, too, so that on memory without erases no old entry counts again. */
static int zms_sector_close(struct zms_fs *fs) {
    uint32_t sector = SECTOR_OF(fs->ate_wra), next = behind(fs, sector);
    struct zms_ate nothing, close = {.cycle_cnt = fs->sector_cycle, .id = NOBODY, .extra = NOBODY};
    close.offset = (uint32_t)OFFSET_OF(fs->ate_wra + fs->ate_size);
    memset(&nothing, fs->flash_parameters->erase_value, sizeof nothing);
    for (; OFFSET_OF(fs->ate_wra) && fs->ate_wra >= fs->data_wra; fs->ate_wra -= fs->ate_size) {
        int rc = put(fs, fs->ate_wra, &nothing, sizeof nothing);
        if (rc) return rc;
    }
    uint64_t place = entry_place(fs, sector, 1);
    fs->ate_wra = entry_place(fs, next, 2);
    fs->data_wra = place_of(next, 0);
    return add(fs, &place, &close);
}

/* The last entry of the sector that is written, and where its data end. */
static int last_entry(struct zms_fs *fs, uint32_t sector) {
    fs->ate_wra = entry_place(fs, sector, 2);
    fs->data_wra = place_of(sector, 0);
    for (uint64_t at = fs->ate_wra; at > fs->data_wra; at -= fs->ate_size) {
        struct zms_ate ate;
        int rc = get(fs, at, &ate, sizeof ate);
        if (rc) return rc;
        if (is_entry(&ate, fs->sector_cycle)) {
            fs->ate_wra = at - fs->ate_size;
            if (ate.len > WITHIN_MAX) fs->data_wra = place_of(sector, ate.offset + zms_al_size(fs, ate.len));
        }
    }
    /* What is torn is left as it is. */
    for (;; fs->ate_wra -= fs->ate_size) {
        uint8_t bytes[sizeof(struct zms_ate)], used = 0;
        int rc = get(fs, fs->ate_wra, bytes, sizeof bytes);
        if (rc) return rc;
        for (size_t at = 0; at < sizeof bytes; at++) used |= bytes[at] ^ fs->flash_parameters->erase_value;
        if (!used || fs->ate_wra <= fs->data_wra) return 0;
    }
}

static bool is_done(struct zms_fs *fs) {
    for (uint64_t at = fs->ate_wra + fs->ate_size; at <= entry_place(fs, SECTOR_OF(at), 2); at += fs->ate_size) {
        struct zms_ate ate;
        if (get(fs, at, &ate, sizeof ate) == 0 && is_entry(&ate, fs->sector_cycle) && ate.id == NOBODY && ate.len == 0) return true;
    }
    return false;
}

/* The open sector behind a closed one; the last if it alone has entries, and else the first. */
static uint32_t written(struct zms_fs *fs) {
    for (uint32_t sector = 0; sector < fs->sector_count; sector++) {
        if (closed_at(fs, sector) && !closed_at(fs, behind(fs, sector))) return behind(fs, sector);
    }
    struct zms_ate first;
    uint32_t last = fs->sector_count - 1;
    bool holds = get(fs, entry_place(fs, last, 2), &first, sizeof first) == 0 && is_entry(&first, cycle_of(fs, last));
    return holds ? last : 0;
}

int zms_mount(struct zms_fs *fs) {
    fs->flash_parameters = flash_get_parameters(fs->flash_device);
    fs->ate_size = zms_al_size(fs, sizeof(struct zms_ate));
    k_mutex_init(&fs->zms_lock);
    uint32_t sector = written(fs), next = behind(fs, sector);
    int rc = cycle_of(fs, sector) < 0 ? emptied(fs, sector) : 0;
    fs->sector_cycle = (uint8_t)cycle_of(fs, sector);
    if (!rc) rc = last_entry(fs, sector);
    if (!rc && closed_at(fs, next)) {
        if (is_done(fs)) {
            rc = emptied(fs, next);
        } else {
            rc = emptied(fs, sector);
            fs->ate_wra = entry_place(fs, sector, 2);
            fs->data_wra = place_of(sector, 0);
            if (!rc) rc = zms_gc(fs);
        }
    }
    if (!rc && fs->ate_wra == entry_place(fs, sector, 2)) rc = zms_add_gc_done_ate(fs);
    fs->ready = !rc;
    LOG_INF("%u sectors", fs->sector_count);
    return rc;
}

static int zms_flash_write_entry(struct zms_fs *fs, zms_id_t id, const void *data, size_t len) {
    struct zms_ate ate = {.cycle_cnt = fs->sector_cycle, .len = (uint16_t)len, .id = id};
    if (len <= WITHIN_MAX) {
        if (len) memcpy(ate.data, data, len);
    } else {
        ate.offset = (uint32_t)OFFSET_OF(fs->data_wra);
        if (IS_ENABLED(CONFIG_ZMS_DATA_CRC)) ate.extra = crc32_ieee(data, len);
        int rc = put(fs, fs->data_wra, data, len);
        if (rc) return rc;
        fs->data_wra += zms_al_size(fs, len);
    }
    return add(fs, &fs->ate_wra, &ate);
}

/* With CONFIG_ZMS_NO_DOUBLE_WRITE: whether that is what the number has. */
static int is_same(struct zms_fs *fs, zms_id_t id, const void *data, size_t len) {
    struct zms_ate ate;
    uint64_t where;
    uint8_t bytes[4096];
    int rc = newest(fs, id, &ate, &where);
    if (rc <= 0 || ate.len != len || len > sizeof bytes) return rc < 0 ? rc : rc == 0 && len == 0;
    if (len <= WITHIN_MAX) return memcmp(ate.data, data, len) == 0;
    rc = get(fs, place_of(SECTOR_OF(where), ate.offset), bytes, len);
    return rc ? rc : memcmp(bytes, data, len) == 0;
}

ssize_t zms_write(struct zms_fs *fs, zms_id_t id, const void *data, size_t len) {
    if (len > fs->sector_size - 5 * fs->ate_size || len > UINT16_MAX) return -EINVAL;
    int rc = IS_ENABLED(CONFIG_ZMS_NO_DOUBLE_WRITE) ? is_same(fs, id, data, len) : 0;
    if (rc) return rc < 0 ? rc : 0;
    /* The last place stays free for a deletion, and the first bytes of a sector are no entry. */
    size_t needed = (len > WITHIN_MAX ? zms_al_size(fs, len) : 0) + (len ? fs->ate_size : 0);
    k_mutex_lock(&fs->zms_lock, K_FOREVER);
    for (uint32_t tries = 0; !rc; tries++) {
        uint64_t last = OFFSET_OF(fs->ate_wra);
        if (last > (len ? fs->ate_size : 0) && fs->ate_wra >= fs->data_wra + needed) {
            rc = zms_flash_write_entry(fs, id, data, len);
            break;
        }
        rc = tries == fs->sector_count ? -ENOSPC : zms_sector_close(fs);
        if (!rc) rc = zms_gc(fs);
    }
    k_mutex_unlock(&fs->zms_lock);
    return rc ? rc : (ssize_t)len;
}

int zms_delete(struct zms_fs *fs, zms_id_t id) { return (int)zms_write(fs, id, NULL, 0); }

ssize_t zms_read_hist(struct zms_fs *fs, zms_id_t id, void *data, size_t len, uint32_t cnt) {
    struct zms_ate ate;
    uint64_t where;
    int rc = newest(fs, id, &ate, &where);
    if (rc <= 0 || ate.len == 0 || cnt) return rc < 0 ? rc : -ENOENT;
    if (ate.len <= WITHIN_MAX) {
        memcpy(data, ate.data, MIN(len, ate.len));
        return ate.len;
    }
    rc = get(fs, place_of(SECTOR_OF(where), ate.offset), data, MIN(len, ate.len));
    if (!rc && IS_ENABLED(CONFIG_ZMS_DATA_CRC) && len >= ate.len && crc32_ieee(data, ate.len) != ate.extra) rc = -EIO;
    return rc ? rc : ate.len;
}

ssize_t zms_read(struct zms_fs *fs, zms_id_t id, void *data, size_t len) {
    ssize_t bytes = zms_read_hist(fs, id, data, len, 0);
    return bytes < 0 ? bytes : (ssize_t)MIN(len, (size_t)bytes);
}
