/* A store of Zephyr whose keys are numbers (NVS, ZMS), as Rust calls it: the interface of keys.h.
 *
 * A file that includes this one has included the sources of the store and causes.h, has its LABELS, whose last is `listed`, and defines:
 *   STORE             the name of the file system
 *   CALLED(what)      a name of the store: nvs_##what
 *   NUMBERS           keys are numbers below this one, which entries have that stand for no key
 *   BESIDE_ENTRIES    entries that a sector needs beside the largest value
 *   CHECK_SUM_BYTES   of what stands behind a value
 *   VALUE_BYTES_MAX   of a value in the largest sector
 *
 * The stores have no list of what they hold: their allocation table is walked for one, as CALLED(calc_free_space) does. */
#ifndef FFSLAB_ZEPHYR_NUMBERS_H
#define FFSLAB_ZEPHYR_NUMBERS_H

#include "told.h"
#include <stdlib.h>

struct ffslab_keys {
    struct CALLED(fs) fs;
    struct device device;
    uint8_t *value;
    /* Numbers that were met in a walk, each plus one at the first free place from the one that it names on; 0: free. */
    uint32_t *seen;
    uint32_t seen_places;
    uint32_t seen_count;
};

/* ---- numbers that were met ------------------------------------------------------------------------------------------ */

#define SEEN_PLACES_MIN 1024

static uint32_t *QUIET seen_place(uint32_t *seen, uint32_t places, uint32_t number) {
    uint32_t at = number * 0x9E3779B1u % places;
    while (seen[at] && seen[at] != number + 1) {
        at = (at + 1) % places;
    }
    return &seen[at];
}

/* Twice the places. */
static bool QUIET seen_grows(struct ffslab_keys *on) {
    uint32_t places = on->seen_places ? 2 * on->seen_places : SEEN_PLACES_MIN;
    uint32_t *seen = calloc(places, sizeof *seen);
    if (!seen) {
        return false;
    }
    for (uint32_t at = 0; at < on->seen_places; at++) {
        if (on->seen[at]) {
            *seen_place(seen, places, on->seen[at] - 1) = on->seen[at];
        }
    }
    free(on->seen);
    on->seen = seen;
    on->seen_places = places;
    return true;
}

/* 1: it is met for the first time; 0: it is not; less: there is no memory. */
static int QUIET is_new(struct ffslab_keys *on, uint32_t number) {
    if (2 * on->seen_count >= on->seen_places && !seen_grows(on)) {
        return -ENOMEM;
    }
    uint32_t *place = seen_place(on->seen, on->seen_places, number);
    if (*place) {
        return 0;
    }
    *place = number + 1;
    on->seen_count++;
    return 1;
}

/* ---- what Rust calls ------------------------------------------------------------------------------------------------ */

uint32_t QUIET ffslab_keys_numbers(void) { return NUMBERS; }

uint32_t QUIET ffslab_keys_key_bytes_max(void) { return sizeof(uint32_t); }

void QUIET ffslab_keys_free(struct ffslab_keys *on) {
    free(on->value);
    free(on->seen);
    free(on);
}

/* NULL: there is no memory, or this store has no room for the size or the number of its sectors. */
struct ffslab_keys *QUIET
ffslab_keys_new(const struct ffslab_device *device, const struct ffslab_setting *settings, uint32_t count) {
    struct ffslab_keys *on = calloc(1, sizeof *on);
    if (!on) {
        return NULL;
    }
    uint64_t sector_bytes = (uint64_t)ffslab_setting_of(settings, count, "sector_size_B", device->erase_block_bytes);
    uint64_t sectors = device->size_bytes / sector_bytes;
    on->device.below = *device;
    on->device.parameters.write_block_size = (size_t)ffslab_setting_of(settings, count, "write_block_B", device->program_bytes);
    on->device.parameters.erase_value = 0xFF;
    on->fs.flash_device = &on->device;
    on->fs.sector_size = sector_bytes;
    on->fs.sector_count = sectors;
    on->value = malloc((size_t)sector_bytes);
    if (!on->value || on->fs.sector_size != sector_bytes || on->fs.sector_count != sectors) {
        ffslab_keys_free(on);
        return NULL;
    }
    return on;
}

int64_t QUIET ffslab_keys_mount(struct ffslab_keys *on) { CALL(on, CALLED(mount)(&on->fs)); }

uint32_t QUIET ffslab_keys_value_bytes_max(struct ffslab_keys *on) {
    uint64_t beside = BESIDE_ENTRIES * CALLED(al_size)(&on->fs, sizeof(struct CALLED(ate))) + CHECK_SUM_BYTES;
    uint64_t fits = on->fs.sector_size > beside ? on->fs.sector_size - beside : 0;
    return (uint32_t)MIN(fits, (uint64_t)VALUE_BYTES_MAX);
}

static inline uint32_t QUIET number_of(const uint8_t *key) {
    uint32_t number;
    memcpy(&number, key, sizeof number);
    return number;
}

/* A value without bytes is a deletion to these stores. */
int64_t QUIET ffslab_keys_set(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes, const uint8_t *value, uint32_t bytes) {
    ARG_UNUSED(key_bytes);
    if (bytes == 0 || bytes > ffslab_keys_value_bytes_max(on)) {
        return bytes ? -E2BIG : -EINVAL;
    }
    CALL(on, CALLED(write)(&on->fs, number_of(key), value, bytes));
}

/* How many bytes are read: there is room for the largest value. */
int64_t QUIET ffslab_keys_get(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes, uint8_t *into, uint32_t room_bytes) {
    ARG_UNUSED(key_bytes);
    CALL(on, CALLED(read)(&on->fs, number_of(key), into, room_bytes));
}

/* A key that is not there is no error. */
int64_t QUIET ffslab_keys_delete(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes) {
    ARG_UNUSED(key_bytes);
    CALL(on, CALLED(delete)(&on->fs, number_of(key)));
}

/* Each number that an entry has, from the newest entry to the oldest, is read once; what is deleted is not there. */
static int64_t __attribute__((noinline)) listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context) {
    __typeof__(on->fs.ate_wra) at = on->fs.ate_wra;
    on->seen_count = 0;
    if (on->seen) {
        memset(on->seen, 0, on->seen_places * sizeof *on->seen);
    }
    do {
        struct CALLED(ate) entry;
        int code = CALLED(prev_ate)(&on->fs, &at, &entry);
        if (code < 0) {
            return code;
        }
        int first = entry.id < NUMBERS ? is_new(on, (uint32_t)entry.id) : 0;
        if (first < 0) {
            return first;
        }
        ssize_t bytes = first ? CALLED(read)(&on->fs, entry.id, on->value, ffslab_keys_value_bytes_max(on)) : 0;
        if (bytes < 0 && bytes != -ENOENT) {
            return bytes;
        }
        if (bytes > 0) {
            uint32_t key = (uint32_t)entry.id;
            emit(context, (const uint8_t *)&key, sizeof key, on->value, (uint32_t)bytes);
        }
    } while (at != on->fs.ate_wra);
    return 0;
}

int64_t QUIET ffslab_keys_iterate(struct ffslab_keys *on, ffslab_keys_emit emit, void *context) { CALL(on, listed(on, emit, context)); }

#endif
