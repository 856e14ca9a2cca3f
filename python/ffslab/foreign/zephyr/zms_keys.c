/*
 * Zephyr's ZMS as Rust calls it: numbers.h over zms.h, with the flash API of Zephyr on a device.
 *
 * The sources of ZMS are part of this file. An operation has the cause of the innermost function of the table below.
 */
#include "zms.c"

#define CALLS_WATCHED zms_delete
#include "causes.h"

#include "keys.h"

static int64_t listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context);

static const struct ffslab_label LABELS[] = {
    {(const void *)zms_mount, MOUNT, CALLS_WITHIN},
    {(const void *)zms_write, SEARCH, CALLS_WITHIN},
    {(const void *)zms_delete, SEARCH, CALLS_WITHIN},
    {(const void *)zms_flash_write_entry, SET, CALLS_WITHIN},
    {(const void *)zms_read_hist, GET, CALLS_WITHIN},
    {(const void *)zms_sector_close, CLOSE, CALLS_LAST},
    {(const void *)zms_gc, GC, CALLS_LAST},
    {(const void *)zms_flash_erase_sector, ERASE, CALLS_LAST_ALWAYS},
    {(const void *)zms_add_empty_ate, HEADER, CALLS_LAST_ALWAYS},
    {(const void *)zms_add_gc_done_ate, MARK, CALLS_WITHIN},
    {.function = (const void *)listed, .cause = ITERATE, .lasts = CALLS_LAST},
};

#define STORE "zephyr-zms"
#define CALLED(what) zms_##what
/* Of numbers of 64 bits (CONFIG_ZMS_ID_64BIT) those of 32 are called. */
#define NUMBERS UINT32_MAX
/* What zms_write() asks for: the value's own entry, the end of the sector, its header, the end of a collection and a deletion. */
#define BESIDE_ENTRIES 5
/* It stands in the entry. */
#define CHECK_SUM_BYTES 0
#define VALUE_BYTES_MAX UINT16_MAX
#include "numbers.h"
