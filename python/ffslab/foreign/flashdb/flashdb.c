/*
 * FlashDB's KVDB as Rust calls it: the interface of keys.h over flashdb.h, with a partition of FAL on a device.
 *
 * The sources of FlashDB are part of this file. An operation has the cause of the innermost function of the table below.
 */
#include <flashdb.h>
#include <stdlib.h>

/* FlashDB would stay there for ever. Up to 2.0 it defines this itself, whatever fdb_cfg.h says. */
#undef FDB_ASSERT
#define FDB_ASSERT(holds) \
    if (!(holds)) {       \
        fal_stop();       \
    }

#include "fdb_utils.c"
#undef FDB_LOG_TAG
#include "fdb.c"
#undef FDB_LOG_TAG
#include "fdb_kvdb.c"

#include "keys.h"
#include <errno.h>

enum cause { OTHER, MOUNT, FORMAT, REPAIR, SEARCH, ROOM, SET, DELETION, GET, ITERATE, STATE, GC, ERASE };

static const struct ffslab_cause CAUSES[] = {
    [OTHER] = {"other", "nothing says why", KIND_READING, FOR_COST},
    [MOUNT] = {"mount scan", "all sectors and all values are read and checked at a mount", KIND_MOUNTING, FOR_COST},
    [FORMAT] = {"formatting", "no sector has a right header: each is erased and gets one", KIND_MANAGING, FOR_FORMATTING},
    [REPAIR] = {"repair", "after a power cut: a value that was being replaced is moved, one half written is marked", KIND_CHECKING, FOR_COST},
    [SEARCH] = {"key search", "what the key had is looked for, in the cache first if there is one", KIND_READING, FOR_COST},
    [ROOM] = {"room search", "a sector is looked for that has room for the value", KIND_READING, FOR_COST},
    [SET] = {"set", "a value that the program sets is written, with its header and name", KIND_WRITING, FOR_WRITTEN_DATA},
    [DELETION] = {"deletion", "a value is marked that was deleted or replaced, and its sector as dirty", KIND_WRITING, FOR_COST},
    [GET] = {"get", "a key is looked for, and its value is read", KIND_READING, FOR_READ_DATA},
    [ITERATE] = {"iterate", "all sectors are walked, and the values of all keys are read", KIND_READING, FOR_READ_DATA},
    [STATE] = {"sector state", "a sector is marked as in use, or as full", KIND_MANAGING, FOR_COST},
    [GC] = {"gc move", "values of a dirty sector that still count are copied into another one", KIND_COLLECTING, FOR_COST},
    [ERASE] = {"sector erase", "a sector is erased and gets its header", KIND_ERASING, FOR_COST},
};
#define CAUSE_COUNT (sizeof CAUSES / sizeof CAUSES[0])

static int64_t fetched(struct ffslab_keys *on, const char *name, uint8_t *into, uint32_t room_bytes);
static int64_t listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context);

static const struct ffslab_label LABELS[] = {
    {(const void *)fdb_kvdb_init, MOUNT, CALLS_WITHIN},
    {(const void *)fdb_kv_set_default, FORMAT, CALLS_LAST},
    {(const void *)check_and_recovery_kv_cb, REPAIR, CALLS_LAST},
    {(const void *)fdb_kv_set_blob, SEARCH, CALLS_WITHIN},
    {(const void *)find_kv, SEARCH, CALLS_WITHIN},
    {(const void *)alloc_kv, ROOM, CALLS_WITHIN},
    {(const void *)create_kv_blob, SET, CALLS_WITHIN},
    {(const void *)del_kv, DELETION, CALLS_WITHIN},
    {(const void *)update_sec_status, STATE, CALLS_WITHIN},
    {(const void *)do_gc, GC, CALLS_WITHIN},
    {(const void *)move_kv, GC, CALLS_LAST},
    {(const void *)format_sector, ERASE, CALLS_LAST},
    {.function = (const void *)fetched, .cause = GET, .lasts = CALLS_LAST},
    {.function = (const void *)listed, .cause = ITERATE, .lasts = CALLS_LAST},
};
#define LABEL_COUNT (sizeof LABELS / sizeof LABELS[0])

/* A name of FDB_KV_NAME_MAX bytes is written, and not found again. */
#define NAME_BYTES_MAX (FDB_KV_NAME_MAX - 1)

struct ffslab_keys {
    struct fdb_kvdb db;
    struct fal_partition part;
    uint8_t *value;
};

static void QUIET __attribute__((constructor)) prepare(void) { calls_prepare(LABELS, LABEL_COUNT); }

/* ---- what Rust calls ------------------------------------------------------------------------------------------------ */

uint32_t QUIET ffslab_keys_abi(void) { return FFSLAB_KEYS_ABI; }

const char *QUIET ffslab_keys_store(void) { return "flashdb"; }

const struct ffslab_cause *QUIET ffslab_keys_causes(uint32_t *count) {
    *count = CAUSE_COUNT;
    return CAUSES;
}

uint32_t QUIET ffslab_keys_numbers(void) { return 0; }

uint32_t QUIET ffslab_keys_key_bytes_max(void) { return NAME_BYTES_MAX; }

void QUIET ffslab_keys_free(struct ffslab_keys *on) {
    free(on->value);
    free(on);
}

/* NULL: there is no memory, or the size of a sector is none for FlashDB. */
struct ffslab_keys *QUIET
ffslab_keys_new(const struct ffslab_device *device, const struct ffslab_setting *settings, uint32_t count) {
    struct ffslab_keys *on = calloc(1, sizeof *on);
    if (!on) {
        return NULL;
    }
    int64_t sector_bytes = ffslab_setting_of(settings, count, "sector_size_B", device->erase_block_bytes);
    on->part.below = *device;
    on->part.flash.blk_size = device->erase_block_bytes;
    on->part.len = (size_t)device->size_bytes;
    on->db.parent.sec_size = (uint32_t)sector_bytes;
    on->value = malloc((size_t)sector_bytes);
    /* What FlashDB asks of its sectors. */
    bool is_power_of_two = (sector_bytes & (sector_bytes - 1)) == 0;
    if (!on->value || !is_power_of_two || on->part.len / (size_t)sector_bytes <= FDB_GC_EMPTY_SEC_THRESHOLD) {
        ffslab_keys_free(on);
        return NULL;
    }
    return on;
}

/* Evaluates a call of flashdb.h, which may not come to an end. */
#define CALL(on, expression)               \
    do {                                   \
        volatile int64_t code = -ETIME;    \
        (on)->part.reads = 0;              \
        (on)->part.erases = 0;             \
        calls_begin(&(on)->part.calls);    \
        if (!setjmp((on)->part.stopped)) { \
            code = (expression);           \
        }                                  \
        calls_end();                       \
        return code;                       \
    } while (0)

static int64_t QUIET number_of(fdb_err_t error) {
    switch (error) {
    case FDB_NO_ERR:
        return 0;
    case FDB_KV_NAME_ERR:
        return -ENOENT;
    case FDB_SAVED_FULL:
        return -ENOSPC;
    default:
        return -EIO;
    }
}

/* What is no FlashDB is formatted, as in firmware. */
int64_t QUIET ffslab_keys_mount(struct ffslab_keys *on) {
    CALL(on, number_of(fdb_kvdb_init(&on->db, "ffslab", on->part.name, NULL, NULL)));
}

/* What alloc_kv_cb() leaves a value of the shortest key in an empty sector. */
uint32_t QUIET ffslab_keys_value_bytes_max(struct ffslab_keys *on) {
    size_t taken = SECTOR_HDR_DATA_SIZE + FDB_SEC_REMAIN_THRESHOLD + KV_HDR_DATA_SIZE + FDB_WG_ALIGN(1) + 1;
    size_t sector_bytes = on->db.parent.sec_size;
    return sector_bytes > taken ? (uint32_t)FDB_WG_ALIGN_DOWN(sector_bytes - taken) : 0;
}

/* A key as text, which FlashDB's are. */
static int64_t QUIET named(char *name, const uint8_t *key, uint32_t key_bytes) {
    if (key_bytes > NAME_BYTES_MAX) {
        return -ENAMETOOLONG;
    }
    if (key_bytes == 0 || memchr(key, 0, key_bytes)) {
        return -EINVAL;
    }
    memcpy(name, key, key_bytes);
    name[key_bytes] = 0;
    return 0;
}

int64_t QUIET ffslab_keys_set(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes, const uint8_t *value, uint32_t bytes) {
    char name[NAME_BYTES_MAX + 1];
    struct fdb_blob blob;
    int64_t refused = named(name, key, key_bytes);
    if (refused || bytes > ffslab_keys_value_bytes_max(on)) {
        return refused ? refused : -E2BIG;
    }
    CALL(on, number_of(fdb_kv_set_blob(&on->db, name, fdb_blob_make(&blob, value, bytes))));
}

/* The bytes that a key has, of which `room_bytes` are read. */
static int64_t QUIET content(struct ffslab_keys *on, struct fdb_kv *kv, uint8_t *into, uint32_t room_bytes) {
    struct fdb_blob blob;
    fdb_kv_to_blob(kv, fdb_blob_make(&blob, into, room_bytes));
    size_t wanted = blob.saved.len < room_bytes ? blob.saved.len : room_bytes;
    return fdb_blob_read(&on->db.parent, &blob) == wanted ? (int64_t)blob.saved.len : -EIO;
}

/* What fdb_kv_get_blob() does, which does not tell an empty value from none, nor looks at the check sum of one in the cache. */
static int64_t __attribute__((noinline)) fetched(struct ffslab_keys *on, const char *name, uint8_t *into, uint32_t room_bytes) {
    struct fdb_kv kv = {.crc_is_ok = false};
    if (!fdb_kv_get_obj(&on->db, name, &kv)) {
        return -ENOENT;
    }
    return kv.crc_is_ok ? content(on, &kv, into, room_bytes) : -EIO;
}

/* How many bytes the value has. */
int64_t QUIET ffslab_keys_get(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes, uint8_t *into, uint32_t room_bytes) {
    char name[NAME_BYTES_MAX + 1];
    int64_t refused = named(name, key, key_bytes);
    if (refused) {
        return refused;
    }
    CALL(on, fetched(on, name, into, room_bytes));
}

int64_t QUIET ffslab_keys_delete(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes) {
    char name[NAME_BYTES_MAX + 1];
    int64_t refused = named(name, key, key_bytes);
    if (refused) {
        return refused;
    }
    CALL(on, number_of(fdb_kv_del(&on->db, name)));
}

static int64_t __attribute__((noinline)) listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context) {
    struct fdb_kv_iterator at;
    fdb_kv_iterator_init(&on->db, &at);
    while (fdb_kv_iterate(&on->db, &at)) {
        int64_t bytes = content(on, &at.curr_kv, on->value, on->db.parent.sec_size);
        if (bytes < 0) {
            return bytes;
        }
        emit(context, (const uint8_t *)at.curr_kv.name, at.curr_kv.name_len, on->value, (uint32_t)bytes);
    }
    return 0;
}

int64_t QUIET ffslab_keys_iterate(struct ffslab_keys *on, ffslab_keys_emit emit, void *context) { CALL(on, listed(on, emit, context)); }
