/*
 * Dhara as Rust calls it: the interface of sectors.h over dhara/map.h, with the functions of dhara/nand.h on flash.
 *
 * The sources of Dhara are part of this file. An operation has the cause of the innermost function of the table below; the page that a write
 * is about, and the one that a read asks for, have the cause of whoever called.
 */
#include "journal.c"
#include "map.c"

#include "calls.h"
#include "sectors.h"
#include <stdlib.h>

enum cause { OF_CALLER, MOUNT, WALK, CHECKPOINT, ERASE, GC, PADDING };

static const struct ffslab_cause CAUSES[] = {
    [OF_CALLER] = {"other", "nothing says why", KIND_READING, FOR_COST},
    [MOUNT] = {"journal search", "Dhara looks for the end of its journal at a mount", KIND_MOUNTING, FOR_COST},
    [WALK] = {"map walk", "Dhara follows its map, which lies in the journal, to a sector", KIND_MANAGING, FOR_COST},
    [CHECKPOINT] = {"checkpoint", "Dhara writes the map of the pages before it", KIND_MANAGING, FOR_COST},
    [ERASE] = {"journal erase", "Dhara erases the next block of its journal", KIND_ERASING, FOR_COST},
    [GC] = {"journal collection", "Dhara copies what is still valid from the end of its journal to the front", KIND_COLLECTING, FOR_COST},
    [PADDING] = {"journal padding", "Dhara fills the pages up to the next checkpoint, because it is asked to sync", KIND_MANAGING, FOR_COST},
};
#define CAUSE_COUNT (sizeof CAUSES / sizeof CAUSES[0])

static const struct ffslab_label LABELS[] = {
    {(const void *)dhara_map_resume, MOUNT, CALLS_LAST},
    {(const void *)trace_path, WALK, CALLS_WITHIN},
    {(const void *)push_meta, CHECKPOINT, CALLS_WITHIN},
    {(const void *)prepare_head, ERASE, CALLS_WITHIN},
    {(const void *)dhara_map_gc, GC, CALLS_LAST},
    {(const void *)raw_gc, GC, CALLS_LAST},
    {(const void *)pad_queue, PADDING, CALLS_LAST},
};
#define LABEL_COUNT (sizeof LABELS / sizeof LABELS[0])

struct ffslab_sectors {
    struct dhara_nand nand; /* the first member: Dhara's functions get its address */
    struct dhara_map map;
    struct ffslab_device device;
    uint8_t *page_of_map;
    uint8_t *page;
    struct ffslab_calls calls;
};

static void QUIET __attribute__((constructor)) prepare(void) { calls_prepare(LABELS, LABEL_COUNT); }

static inline const struct ffslab_sectors *QUIET sectors_of(const struct dhara_nand *nand) {
    return (const struct ffslab_sectors *)nand;
}

static inline uint32_t QUIET page_bytes(const struct dhara_nand *nand) { return 1u << nand->log2_page_size; }

static inline uint64_t QUIET page_at(const struct dhara_nand *nand, dhara_page_t page) { return (uint64_t)page << nand->log2_page_size; }

static inline uint64_t QUIET block_at(const struct dhara_nand *nand, dhara_block_t block) {
    return (uint64_t)block << (nand->log2_page_size + nand->log2_ppb);
}

/* ---- the device --------------------------------------------------------------------------------------------------- */

static int QUIET answer(int32_t code, dhara_error_t wrong, dhara_error_t *error) {
    if (code >= 0) {
        return 0;
    }
    dhara_set_error(error, wrong);
    return -1;
}

int QUIET dhara_nand_is_bad(const struct dhara_nand *nand, dhara_block_t block) {
    const struct ffslab_device *device = &sectors_of(nand)->device;
    return device->is_bad(device->context, block_at(nand, block)) != 0;
}

void QUIET dhara_nand_mark_bad(const struct dhara_nand *nand, dhara_block_t block) {
    const struct ffslab_device *device = &sectors_of(nand)->device;
    device->mark_bad(device->context, block_at(nand, block));
}

int QUIET dhara_nand_erase(const struct dhara_nand *nand, dhara_block_t block, dhara_error_t *error) {
    const struct ffslab_sectors *on = sectors_of(nand);
    uint32_t bytes = page_bytes(nand) << nand->log2_ppb;
    int32_t code = on->device.erase(on->device.context, calls_cause(&on->calls), block_at(nand, block), bytes);
    return answer(code, DHARA_E_BAD_BLOCK, error);
}

int QUIET dhara_nand_prog(const struct dhara_nand *nand, dhara_page_t page, const uint8_t *data, dhara_error_t *error) {
    const struct ffslab_sectors *on = sectors_of(nand);
    int32_t code = on->device.program(on->device.context, calls_cause(&on->calls), page_at(nand, page), data, page_bytes(nand));
    return answer(code, DHARA_E_BAD_BLOCK, error);
}

int QUIET dhara_nand_read(
    const struct dhara_nand *nand, dhara_page_t page, size_t offset, size_t length, uint8_t *into, dhara_error_t *error) {
    const struct ffslab_sectors *on = sectors_of(nand);
    uint64_t at = page_at(nand, page) + offset;
    return answer(on->device.read(on->device.context, calls_cause(&on->calls), at, into, (uint32_t)length), DHARA_E_ECC, error);
}

/* A page is free if its bytes read as erased, as ports without access to out-of-band bytes do. */
int QUIET dhara_nand_is_free(const struct dhara_nand *nand, dhara_page_t page) {
    uint8_t *held = sectors_of(nand)->page;
    if (dhara_nand_read(nand, page, 0, page_bytes(nand), held, NULL) < 0) {
        return 0;
    }
    uint32_t at = 0;
    while (at < page_bytes(nand) && held[at] == 0xFF) {
        at++;
    }
    return at == page_bytes(nand);
}

int QUIET dhara_nand_copy(const struct dhara_nand *nand, dhara_page_t from, dhara_page_t to, dhara_error_t *error) {
    uint8_t *held = sectors_of(nand)->page;
    int code = dhara_nand_read(nand, from, 0, page_bytes(nand), held, error);
    return code < 0 ? code : dhara_nand_prog(nand, to, held, error);
}

/* ---- what Rust calls ---------------------------------------------------------------------------------------------- */

uint32_t QUIET ffslab_sectors_abi(void) { return FFSLAB_SECTORS_ABI; }

const struct ffslab_cause *QUIET ffslab_sectors_causes(uint32_t *count) {
    *count = CAUSE_COUNT;
    return CAUSES;
}

void QUIET ffslab_sectors_free(struct ffslab_sectors *on) {
    free(on->page_of_map);
    free(on->page);
    free(on);
}

/* NULL: there is no memory, or the sizes are no powers of two. */
struct ffslab_sectors *QUIET
ffslab_sectors_new(const struct ffslab_device *device, const struct ffslab_setting *settings, uint32_t count) {
    struct ffslab_sectors *on = calloc(1, sizeof *on);
    if (!on) {
        return NULL;
    }
    uint32_t pages = device->erase_block_bytes / device->program_bytes;
    on->device = *device;
    while (1u << on->nand.log2_page_size < device->program_bytes) {
        on->nand.log2_page_size++;
    }
    while (1u << on->nand.log2_ppb < pages) {
        on->nand.log2_ppb++;
    }
    on->nand.num_blocks = (unsigned)(device->size_bytes / device->erase_block_bytes);
    on->page_of_map = calloc(1, device->program_bytes);
    on->page = calloc(1, device->program_bytes);
    if (!on->page_of_map || !on->page || page_bytes(&on->nand) != device->program_bytes || 1u << on->nand.log2_ppb != pages) {
        ffslab_sectors_free(on);
        return NULL;
    }
    dhara_map_init(&on->map, &on->nand, on->page_of_map, (uint8_t)ffslab_setting_of(settings, count, "gc_ratio", 4));
    return on;
}

/* Evaluates a call of map.h. */
#define CALL(on, expression)                \
    do {                                    \
        dhara_error_t error = DHARA_E_NONE; \
        calls_begin(&(on)->calls);          \
        int code = (expression);            \
        calls_end();                        \
        return told(code, error);           \
    } while (0)

static int64_t QUIET told(int code, dhara_error_t error) {
    if (code >= 0) {
        return 0;
    }
    return error == DHARA_E_MAP_FULL || error == DHARA_E_JOURNAL_FULL || error == DHARA_E_TOO_BAD ? -28 : -5;
}

/* What stands on the flash is found again. Without a journal it begins with an empty one: that is no error. */
int64_t QUIET ffslab_sectors_open(struct ffslab_sectors *on) { CALL(on, (dhara_map_resume(&on->map, &error), 0)); }

uint32_t QUIET ffslab_sectors_count(struct ffslab_sectors *on) { return dhara_map_capacity(&on->map); }

int64_t QUIET ffslab_sectors_read(struct ffslab_sectors *on, uint32_t sector, uint8_t *into) {
    CALL(on, dhara_map_read(&on->map, sector, into, &error));
}

int64_t QUIET ffslab_sectors_write(struct ffslab_sectors *on, uint32_t sector, const uint8_t *data) {
    CALL(on, dhara_map_write(&on->map, sector, data, &error));
}

int64_t QUIET ffslab_sectors_trim(struct ffslab_sectors *on, uint32_t sector) { CALL(on, dhara_map_trim(&on->map, sector, &error)); }

int64_t QUIET ffslab_sectors_sync(struct ffslab_sectors *on) { CALL(on, dhara_map_sync(&on->map, &error)); }
