/*
 * Zephyr's NVS as Rust calls it: numbers.h over nvs.h, with the flash API of Zephyr on a device.
 *
 * The sources of NVS are part of this file. An operation has the cause of the innermost function of the table below.
 */
#include "nvs.c"

#define CALLS_WATCHED nvs_delete
#include "causes.h"

#include "keys.h"

static int64_t listed(struct ffslab_keys *on, ffslab_keys_emit emit, void *context);

static const struct ffslab_label LABELS[] = {
    {(const void *)nvs_mount, MOUNT, CALLS_WITHIN},
    {(const void *)nvs_write, SEARCH, CALLS_WITHIN},
    {(const void *)nvs_delete, SEARCH, CALLS_WITHIN},
    {(const void *)nvs_flash_wrt_entry, SET, CALLS_WITHIN},
    {(const void *)nvs_read, GET, CALLS_WITHIN},
    {(const void *)nvs_sector_close, CLOSE, CALLS_LAST},
    {(const void *)nvs_gc, GC, CALLS_LAST},
    {(const void *)nvs_flash_erase_sector, ERASE, CALLS_LAST_ALWAYS},
    {(const void *)nvs_add_gc_done_ate, MARK, CALLS_WITHIN},
    /* The value that made the collection necessary, behind the last bytes of what was moved: since Zephyr 4.4. */
    {(const void *)nvs_gc_flush_and_try_write, SET, CALLS_LAST_ALWAYS},
    {.function = (const void *)listed, .cause = ITERATE, .lasts = CALLS_LAST},
};

#define STORE "zephyr-nvs"
#define CALLED(what) nvs_##what
#define NUMBERS 0xFFFF
/* What nvs_write() asks for: the value's own entry, the end of the sector, the end of a collection and a deletion. */
#define BESIDE_ENTRIES 4
#define CHECK_SUM_BYTES (IS_ENABLED(CONFIG_NVS_DATA_CRC) ? 4 : 0)
#define VALUE_BYTES_MAX UINT16_MAX
#include "numbers.h"
