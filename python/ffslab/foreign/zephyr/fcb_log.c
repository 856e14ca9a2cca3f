/*
 * Zephyr's FCB as Rust calls it: the interface of keys.h over fcb.h, with the flash API of Zephyr on a device.
 *
 * FCB is a log: entries are appended, and whole sectors of them erased, the oldest first. A key stands in its entry as "key=value", which is
 * how Zephyr's settings keep them in an FCB (subsys/settings/src/settings_fcb.c): the newest entry counts, and one without a value says that
 * the key is gone. What is done when no sector is left is up to the program (when_full).
 *
 * The sources of FCB are part of this file. An operation has the cause of the innermost function of the table below.
 */
#include "fcb.c"
#include "fcb_append.c"
#include "fcb_elem_info.c"
#include "fcb_getnext.c"
#include "fcb_rotate.c"

struct ffslab_keys;
static int removed(struct ffslab_keys *on, const uint8_t *name, uint32_t name_bytes);

enum cause { OTHER, MOUNT, SET, DELETION, GET, ITERATE, HEADER, GC, ERASE };

#define CALLS_WATCHED removed
#define CALLS_REFINED(on, cause) ((on)->watched && (cause) == SET ? DELETION : (cause))
#include "flash.h"

#include "keys.h"

static const struct ffslab_cause CAUSES[] = {
    [OTHER] = {"other", "nothing says why", KIND_READING, FOR_COST},
    [MOUNT] = {"mount scan", "the headers of all sectors are read, and the entries of the newest one", KIND_MOUNTING, FOR_COST},
    [SET] = {"set", "an entry is appended, and read again for its check sum", KIND_WRITING, FOR_WRITTEN_DATA},
    [DELETION] = {"deletion", "an entry without a value says that a key is gone", KIND_WRITING, FOR_COST},
    [GET] = {"get", "all entries are read and checked, and the newest of the key gives its value", KIND_READING, FOR_READ_DATA},
    [ITERATE] = {"iterate", "all entries are read and checked", KIND_READING, FOR_READ_DATA},
    [HEADER] = {"sector header", "a sector is begun", KIND_MANAGING, FOR_COST},
    [GC] = {"gc move", "entries of the oldest sector that still count are appended again", KIND_COLLECTING, FOR_COST},
    [ERASE] = {"sector erase", "the oldest sector is erased with its entries", KIND_ERASING, FOR_COST},
};

static int stored(struct ffslab_keys *on, const uint8_t *name, uint32_t name_bytes, const uint8_t *value, uint32_t bytes);
static int compressed(struct ffslab_keys *on);
static int64_t fetched(struct ffslab_keys *on, const uint8_t *name, uint32_t name_bytes, uint8_t *into, uint32_t room_bytes);
static int64_t listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context);

static const struct ffslab_label LABELS[] = {
    {(const void *)fcb_init, MOUNT, CALLS_WITHIN},
    {(const void *)fcb_sector_hdr_init, HEADER, CALLS_LAST_ALWAYS},
    {(const void *)fcb_erase_sector, ERASE, CALLS_LAST_ALWAYS},
    {.function = (const void *)stored, .cause = SET, .lasts = CALLS_WITHIN},
    {.function = (const void *)removed, .cause = DELETION, .lasts = CALLS_WITHIN},
    {.function = (const void *)compressed, .cause = GC, .lasts = CALLS_LAST},
    {.function = (const void *)fetched, .cause = GET, .lasts = CALLS_LAST},
    {.function = (const void *)listed, .cause = ITERATE, .lasts = CALLS_LAST},
};

#define STORE "zephyr-fcb"
#include "told.h"
#include <stdlib.h>

/* SETTINGS_MAX_NAME_LEN. */
#define NAME_BYTES_MAX 64
/* Some versions refuse the length FCB_MAX_LEN itself. */
#define ENTRY_BYTES_MAX (FCB_MAX_LEN - 1)
/* That of Zephyr's settings (CONFIG_SETTINGS_FCB_MAGIC). */
#define MAGIC 0xC0FFEEEE

/* What happens when an entry finds no room: no more entries; the oldest sector goes with its entries; those of it that count are appended
 * to a sector that was kept empty, and then it goes. */
enum when_full { STOP, ROTATE, COMPRESS };

struct ffslab_keys {
    struct fcb fcb;
    struct flash_sector *sectors;
    struct device device;
    enum when_full when_full;
    /* Of an entry, and what is appended, up to whole units. */
    uint8_t read[ENTRY_BYTES_MAX];
    uint8_t written[ENTRY_BYTES_MAX + 32];
};

uint32_t QUIET ffslab_keys_numbers(void) { return 0; }

uint32_t QUIET ffslab_keys_key_bytes_max(void) { return NAME_BYTES_MAX; }

void QUIET ffslab_keys_free(struct ffslab_keys *on) {
    free(on->sectors);
    free(on);
}

/* NULL: there is no memory, or FCB cannot count so many sectors. */
struct ffslab_keys *QUIET
ffslab_keys_new(const struct ffslab_device *device, const struct ffslab_setting *settings, uint32_t count) {
    struct ffslab_keys *on = calloc(1, sizeof *on);
    size_t sector_bytes = (size_t)ffslab_setting_of(settings, count, "sector_size_B", device->erase_block_bytes);
    size_t sectors = (size_t)device->size_bytes / sector_bytes;
    if (!on || !(on->sectors = calloc(sectors, sizeof *on->sectors))) {
        free(on);
        return NULL;
    }
    on->when_full = (enum when_full)ffslab_setting_of(settings, count, "when_full", STOP);
    on->device.below = *device;
    on->device.parameters.write_block_size = (size_t)ffslab_setting_of(settings, count, "write_block_B", device->program_bytes);
    on->device.parameters.erase_value = 0xFF;
    on->fcb.f_magic = MAGIC;
    on->fcb.f_version = 1;
    on->fcb.f_sectors = on->sectors;
    on->fcb.f_sector_cnt = sectors;
    on->fcb.f_scratch_cnt = on->when_full == COMPRESS;
    for (size_t sector = 0; sector < sectors; sector++) {
        on->sectors[sector] = (struct flash_sector){.fs_off = (off_t)(sector * sector_bytes), .fs_size = sector_bytes};
    }
    if (on->fcb.f_sector_cnt != sectors) {
        ffslab_keys_free(on);
        return NULL;
    }
    return on;
}

/* A sector is to be kept empty. If none is, the newest was being filled with copies of entries of the oldest. */
static int QUIET begun(struct ffslab_keys *on) {
    int rc = fcb_init(0, &on->fcb);
    for (int tries = 0; rc == 0 && on->when_full == COMPRESS && fcb_free_sector_cnt(&on->fcb) < 1; tries++) {
        rc = tries ? -ENOSPC : fcb_erase_sector(&on->fcb, on->fcb.f_active.fe_sector);
        rc = rc ? rc : fcb_init(0, &on->fcb);
    }
    return rc;
}

int64_t QUIET ffslab_keys_mount(struct ffslab_keys *on) { CALL(on, begun(on)); }

static size_t QUIET whole_units(const struct ffslab_keys *on, size_t bytes) {
    size_t unit = on->device.parameters.write_block_size;
    return (bytes + unit - 1) / unit * unit;
}

/* Beside the largest entry a sector has its header, and that entry a length and a check sum. */
uint32_t QUIET ffslab_keys_value_bytes_max(struct ffslab_keys *on) {
    size_t beside = whole_units(on, sizeof(struct fcb_disk_area)) + whole_units(on, 2) + whole_units(on, 1);
    size_t unit = on->device.parameters.write_block_size, sector_bytes = on->sectors[0].fs_size;
    size_t fits = sector_bytes > beside ? (sector_bytes - beside) / unit * unit : 0;
    size_t most = MIN(fits, (size_t)ENTRY_BYTES_MAX);
    return most > NAME_BYTES_MAX + 1 ? (uint32_t)(most - NAME_BYTES_MAX - 1) : 0;
}

/* The entry into `read`, with how many bytes of it are the name; 0: it has none. */
static int QUIET entry_read(struct ffslab_keys *on, const struct fcb_entry *at, uint32_t *name_bytes) {
    size_t bytes = MIN(at->fe_data_len, sizeof on->read);
    int rc = flash_area_read(on->fcb.fap, at->fe_sector->fs_off + at->fe_data_off, on->read, bytes);
    const uint8_t *end = rc ? NULL : memchr(on->read, '=', bytes);
    *name_bytes = end ? (uint32_t)(end - on->read) : 0;
    return rc;
}

/* What is in `written`, at the end of the log. */
static int QUIET appended(struct ffslab_keys *on, size_t bytes) {
    struct fcb_entry at = {0};
    int rc = fcb_append(&on->fcb, (uint16_t)bytes, &at);
    size_t whole = whole_units(on, bytes);
    memset(on->written + bytes, on->device.parameters.erase_value, whole - bytes);
    rc = rc ? rc : flash_area_write(on->fcb.fap, at.fe_sector->fs_off + at.fe_data_off, on->written, whole);
    return rc ? rc : fcb_append_finish(&on->fcb, &at);
}

/* Whether an entry with the same name follows. */
static int QUIET is_replaced(struct ffslab_keys *on, struct fcb_entry at, const uint8_t *name, uint32_t name_bytes) {
    while (fcb_getnext(&on->fcb, &at) == 0) {
        uint32_t found;
        int rc = entry_read(on, &at, &found);
        if (rc || (found == name_bytes && memcmp(on->read, name, name_bytes) == 0)) {
            return rc ? rc : 1;
        }
    }
    return 0;
}

/* A deletion has done its work: what it deletes is older, and stands in the same sector or nowhere. */
static int __attribute__((noinline)) compressed(struct ffslab_keys *on) {
    struct fcb_entry at = {.fe_sector = on->fcb.f_oldest};
    int rc = fcb_append_to_scratch(&on->fcb);
    while (rc == 0 && fcb_getnext(&on->fcb, &at) == 0 && at.fe_sector == on->fcb.f_oldest) {
        uint32_t name_bytes;
        rc = entry_read(on, &at, &name_bytes);
        if (rc || name_bytes == 0 || name_bytes + 1 >= at.fe_data_len) {
            continue;
        }
        size_t bytes = MIN(at.fe_data_len, sizeof on->read);
        memcpy(on->written, on->read, bytes);
        int later = is_replaced(on, at, on->written, name_bytes);
        rc = later < 0 ? later : later ? 0 : appended(on, bytes);
    }
    return rc ? rc : fcb_rotate(&on->fcb);
}

static int __attribute__((noinline))
stored(struct ffslab_keys *on, const uint8_t *name, uint32_t name_bytes, const uint8_t *value, uint32_t bytes) {
    for (int tries = 0;; tries++) {
        memcpy(on->written, name, name_bytes);
        on->written[name_bytes] = '=';
        memcpy(on->written + name_bytes + 1, value, bytes);
        int rc = appended(on, name_bytes + 1 + bytes);
        if (rc != -ENOSPC || on->when_full == STOP || tries == on->fcb.f_sector_cnt) {
            return rc;
        }
        rc = on->when_full == ROTATE ? fcb_rotate(&on->fcb) : compressed(on);
        if (rc) {
            return rc;
        }
    }
}

static int __attribute__((noinline)) removed(struct ffslab_keys *on, const uint8_t *name, uint32_t name_bytes) {
    return stored(on, name, name_bytes, NULL, 0);
}

static int64_t QUIET refused(const uint8_t *name, uint32_t name_bytes) {
    if (name_bytes > NAME_BYTES_MAX) {
        return -ENAMETOOLONG;
    }
    return name_bytes == 0 || memchr(name, '=', name_bytes) ? -EINVAL : 0;
}

/* A value without bytes is a deletion. */
int64_t QUIET ffslab_keys_set(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes, const uint8_t *value, uint32_t bytes) {
    int64_t why = refused(key, key_bytes);
    if (why || bytes == 0 || bytes > ffslab_keys_value_bytes_max(on)) {
        return why ? why : bytes ? -E2BIG : -EINVAL;
    }
    CALL(on, stored(on, key, key_bytes, value, bytes));
}

int64_t QUIET ffslab_keys_delete(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes) {
    int64_t why = refused(key, key_bytes);
    if (why) {
        return why;
    }
    CALL(on, removed(on, key, key_bytes));
}

static int64_t __attribute__((noinline))
fetched(struct ffslab_keys *on, const uint8_t *name, uint32_t name_bytes, uint8_t *into, uint32_t room_bytes) {
    struct fcb_entry at = {0};
    int64_t bytes = -ENOENT;
    while (fcb_getnext(&on->fcb, &at) == 0) {
        uint32_t found;
        int rc = entry_read(on, &at, &found);
        if (rc) {
            return rc;
        }
        if (found == name_bytes && memcmp(on->read, name, name_bytes) == 0) {
            uint32_t value_bytes = at.fe_data_len - name_bytes - 1;
            bytes = value_bytes ? (int64_t)value_bytes : -ENOENT;
            memcpy(into, on->read + name_bytes + 1, MIN(value_bytes, room_bytes));
        }
    }
    return bytes;
}

/* How many bytes the value has. */
int64_t QUIET ffslab_keys_get(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes, uint8_t *into, uint32_t room_bytes) {
    int64_t why = refused(key, key_bytes);
    if (why) {
        return why;
    }
    CALL(on, fetched(on, key, key_bytes, into, room_bytes));
}

/* The oldest first. */
static int64_t __attribute__((noinline)) listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context) {
    struct fcb_entry at = {0};
    while (fcb_getnext(&on->fcb, &at) == 0) {
        uint32_t name_bytes;
        int rc = entry_read(on, &at, &name_bytes);
        if (rc) {
            return rc;
        }
        uint32_t value_bytes = at.fe_data_len - name_bytes - 1;
        if (name_bytes) {
            emit(context, on->read, name_bytes, on->read + name_bytes + 1, value_bytes ? value_bytes : FFSLAB_KEYS_GONE);
        }
    }
    return 0;
}

int64_t QUIET ffslab_keys_iterate(struct ffslab_keys *on, ffslab_keys_emit emit, void *context) { CALL(on, listed(on, emit, context)); }
