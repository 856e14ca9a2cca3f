/*
 * Zephyr's NVS as Rust calls it: the interface of keys.h over nvs.h, with the flash API of Zephyr on a device.
 *
 * The sources of NVS are part of this file. An operation has the cause of the innermost function of the table below.
 *
 * NVS has no list of what it holds: its allocation table is walked for one, as nvs_calc_free_space() does.
 */
#include "nvs.c"

enum cause { OTHER, MOUNT, SEARCH, SET, DELETION, GET, ITERATE, CLOSE, GC, ERASE, MARK };

/* A deletion is an entry without data. */
#define CALLS_WATCHED nvs_delete
#define CALLS_REFINED(on, cause) ((on)->watched && (cause) == SET ? DELETION : (cause))
#include "flash.h"
#include "keys.h"
#include <stdlib.h>

static const struct ffslab_cause CAUSES[] = {
    [OTHER] = {"other", "nothing says why", KIND_READING, FOR_COST},
    [MOUNT] = {"mount scan", "the sector that is written is looked for at a mount, and its last entry", KIND_MOUNTING, FOR_COST},
    [SEARCH] = {"key search", "the allocation table is walked for what the key had, and that is compared", KIND_READING, FOR_COST},
    [SET] = {"set", "a value that the program sets is written, with its entry of the allocation table", KIND_WRITING, FOR_WRITTEN_DATA},
    [DELETION] = {"deletion", "an entry without data says that a key is gone", KIND_WRITING, FOR_COST},
    [GET] = {"get", "the allocation table is walked for a key, and its value is read", KIND_READING, FOR_READ_DATA},
    [ITERATE] = {"iterate", "the allocation table is walked for all keys, and their values are read", KIND_READING, FOR_READ_DATA},
    [CLOSE] = {"sector close", "the last entry of a full sector says where its table ends", KIND_MANAGING, FOR_COST},
    [GC] = {"gc move", "values of the oldest sector that still count are copied into the new one", KIND_COLLECTING, FOR_COST},
    [ERASE] = {"sector erase", "a sector is erased and read to see that it is", KIND_ERASING, FOR_COST},
    [MARK] = {"gc mark", "an entry in an empty sector says that nothing is left to be collected", KIND_MANAGING, FOR_COST},
};
#define CAUSE_COUNT (sizeof CAUSES / sizeof CAUSES[0])

static int64_t listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context);

static const struct ffslab_label LABELS[] = {
    {(const void *)nvs_mount, MOUNT, CALLS_WITHIN},
    {(const void *)nvs_write, SEARCH, CALLS_WITHIN},
    {(const void *)nvs_delete, SEARCH, CALLS_WITHIN},
    {(const void *)nvs_flash_wrt_entry, SET, CALLS_WITHIN},
    {(const void *)nvs_read, GET, CALLS_WITHIN},
    {.function = (const void *)listed, .cause = ITERATE, .lasts = CALLS_LAST},
    {(const void *)nvs_sector_close, CLOSE, CALLS_LAST},
    {(const void *)nvs_gc, GC, CALLS_LAST},
    {(const void *)nvs_flash_erase_sector, ERASE, CALLS_LAST_ALWAYS},
    {(const void *)nvs_add_gc_done_ate, MARK, CALLS_WITHIN},
    /* The value that made the collection necessary, behind the last bytes of what was moved: since Zephyr 4.4. */
    {(const void *)nvs_gc_flush_and_try_write, SET, CALLS_LAST_ALWAYS},
};
#define LABEL_COUNT (sizeof LABELS / sizeof LABELS[0])

/* Keys are numbers below this one, which entries have that stand for no key. */
#define NUMBERS 0xFFFF

struct ffslab_keys {
    struct nvs_fs fs;
    struct device device;
    uint8_t *value;
    uint8_t seen[NUMBERS / 8 + 1];
};

static void QUIET __attribute__((constructor)) prepare(void) { calls_prepare(LABELS, LABEL_COUNT); }

/* ---- what Rust calls ------------------------------------------------------------------------------------------------ */

uint32_t QUIET ffslab_keys_abi(void) { return FFSLAB_KEYS_ABI; }

const char *QUIET ffslab_keys_store(void) { return "zephyr-nvs"; }

const struct ffslab_cause *QUIET ffslab_keys_causes(uint32_t *count) {
    *count = CAUSE_COUNT;
    return CAUSES;
}

/* Keys are numbers below this one; 0: they are bytes. */
uint32_t QUIET ffslab_keys_numbers(void) { return NUMBERS; }

uint32_t QUIET ffslab_keys_key_bytes_max(void) { return sizeof(uint32_t); }

void QUIET ffslab_keys_free(struct ffslab_keys *on) {
    free(on->value);
    free(on);
}

/* NULL: there is no memory, or this NVS has no room for the size of a sector. */
struct ffslab_keys *QUIET
ffslab_keys_new(const struct ffslab_device *device, const struct ffslab_setting *settings, uint32_t count) {
    struct ffslab_keys *on = calloc(1, sizeof *on);
    if (!on) {
        return NULL;
    }
    int64_t sector_bytes = ffslab_setting_of(settings, count, "sector_size_B", device->erase_block_bytes);
    on->device.below = *device;
    on->device.parameters.write_block_size = (size_t)ffslab_setting_of(settings, count, "write_block_B", device->program_bytes);
    on->device.parameters.erase_value = 0xFF;
    on->fs.flash_device = &on->device;
    on->fs.sector_size = sector_bytes;
    on->fs.sector_count = (uint16_t)(device->size_bytes / (uint64_t)sector_bytes);
    on->value = malloc((size_t)sector_bytes);
    if (!on->value || on->fs.sector_size != sector_bytes) {
        ffslab_keys_free(on);
        return NULL;
    }
    return on;
}

/* Evaluates a call of nvs.h. */
#define CALL(on, expression)               \
    do {                                   \
        calls_begin(&(on)->device.calls);  \
        int64_t code = (expression);       \
        calls_end();                       \
        return code;                       \
    } while (0)

int64_t QUIET ffslab_keys_mount(struct ffslab_keys *on) { CALL(on, nvs_mount(&on->fs)); }

/* What nvs_write() lets a value have beside the entries that a sector needs: for it, the end of the sector, the end of a collection and a
 * deletion. */
uint32_t QUIET ffslab_keys_value_bytes_max(struct ffslab_keys *on) {
    uint32_t check_sum_bytes = IS_ENABLED(CONFIG_NVS_DATA_CRC) ? 4 : 0;
    return (uint32_t)(on->fs.sector_size - 4 * nvs_al_size(&on->fs, sizeof(struct nvs_ate)) - check_sum_bytes);
}

static inline uint16_t QUIET number_of(const uint8_t *key) {
    uint32_t number;
    memcpy(&number, key, sizeof number);
    return (uint16_t)number;
}

/* A value without bytes is a deletion to NVS. */
int64_t QUIET ffslab_keys_set(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes, const uint8_t *value, uint32_t bytes) {
    ARG_UNUSED(key_bytes);
    if (bytes == 0 || bytes > ffslab_keys_value_bytes_max(on)) {
        return bytes ? -E2BIG : -EINVAL;
    }
    CALL(on, nvs_write(&on->fs, number_of(key), value, bytes));
}

/* How many bytes the value has. */
int64_t QUIET ffslab_keys_get(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes, uint8_t *into, uint32_t room_bytes) {
    ARG_UNUSED(key_bytes);
    CALL(on, nvs_read(&on->fs, number_of(key), into, room_bytes));
}

/* A key that is not there is no error. */
int64_t QUIET ffslab_keys_delete(struct ffslab_keys *on, const uint8_t *key, uint32_t key_bytes) {
    ARG_UNUSED(key_bytes);
    CALL(on, nvs_delete(&on->fs, number_of(key)));
}

/* Each number that an entry has, from the newest entry to the oldest, is read once; what is deleted is not there. */
static int64_t __attribute__((noinline)) listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context) {
    memset(on->seen, 0, sizeof on->seen);
    uint32_t at = on->fs.ate_wra;
    do {
        struct nvs_ate entry;
        int code = nvs_prev_ate(&on->fs, &at, &entry);
        if (code < 0) {
            return code;
        }
        if (entry.id >= NUMBERS || on->seen[entry.id / 8] & 1 << entry.id % 8) {
            continue;
        }
        on->seen[entry.id / 8] |= (uint8_t)(1 << entry.id % 8);
        ssize_t bytes = nvs_read(&on->fs, entry.id, on->value, ffslab_keys_value_bytes_max(on));
        if (bytes < 0 && bytes != -ENOENT) {
            return bytes;
        }
        if (bytes > 0) {
            uint32_t key = entry.id;
            emit(context, (const uint8_t *)&key, sizeof key, on->value, (uint32_t)bytes);
        }
    } while (at != on->fs.ate_wra);
    return 0;
}

int64_t QUIET ffslab_keys_iterate(struct ffslab_keys *on, ffslab_keys_emit emit, void *context) { CALL(on, listed(on, emit, context)); }
