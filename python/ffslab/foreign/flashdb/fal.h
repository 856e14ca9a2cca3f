/* The flash abstraction layer (FAL) that FlashDB asks for, on the device that Rust gives: this file stands in the place of its fal.h.
 *
 * A database is told its partition by a name, and looks for the flash below by another one. Here each partition has both names in itself,
 * so that whoever has a name has the partition: several databases can be open at once, and none is looked for. */
#ifndef FFSLAB_FAL_H
#define FFSLAB_FAL_H

#include "calls.h"
#include "device.h"
#include <setjmp.h>

struct fal_flash_dev {
    size_t blk_size;
};

struct fal_partition {
    char name[1];
    char flash_name[1];
    size_t len;
    struct fal_flash_dev flash;
    struct ffslab_device below;
    struct ffslab_calls calls;
    /* Of the call that goes on: where it ends if FlashDB would not end it, reads since something was written, and erases. */
    jmp_buf stopped;
    uint64_t reads;
    uint64_t erases;
};

/* No call reads each byte so often without a write, nor erases each block so often. */
#define FAL_PASSES_MAX 64

/* Ends a call that would go on for ever. */
static void QUIET __attribute__((noreturn)) fal_stop(void) {
    longjmp(((struct fal_partition *)((char *)calls_running - offsetof(struct fal_partition, calls)))->stopped, 1);
}

static int QUIET fal_init(void) { return 1; }

static const struct fal_partition *QUIET fal_partition_find(const char *name) {
    return (const struct fal_partition *)(name - offsetof(struct fal_partition, name));
}

static const struct fal_flash_dev *QUIET fal_flash_device_find(const char *name) {
    return &((const struct fal_partition *)(name - offsetof(struct fal_partition, flash_name)))->flash;
}

/* As FAL has it: beyond the partition there is nothing. */
static int QUIET fal_fits(const struct fal_partition *part, uint32_t at, size_t bytes) { return at <= part->len && bytes <= part->len - at; }

/* How many bytes, or -1. */
static int QUIET fal_partition_read(const struct fal_partition *part, uint32_t at, uint8_t *into, size_t bytes) {
    const struct ffslab_device *below = &part->below;
    if (((struct fal_partition *)part)->reads++ > (uint64_t)FAL_PASSES_MAX * part->len) {
        fal_stop();
    }
    if (!fal_fits(part, at, bytes) || (bytes && below->read(below->context, calls_cause(&part->calls), at, into, (uint32_t)bytes) < 0)) {
        return -1;
    }
    return (int)bytes;
}

static int QUIET fal_partition_write(const struct fal_partition *part, uint32_t at, const uint8_t *data, size_t bytes) {
    const struct ffslab_device *below = &part->below;
    ((struct fal_partition *)part)->reads = 0;
    if (!fal_fits(part, at, bytes) || (bytes && below->program(below->context, calls_cause(&part->calls), at, data, (uint32_t)bytes) < 0)) {
        return -1;
    }
    return (int)bytes;
}

static int QUIET fal_partition_erase(const struct fal_partition *part, uint32_t at, size_t bytes) {
    const struct ffslab_device *below = &part->below;
    if (((struct fal_partition *)part)->erases++ > (uint64_t)FAL_PASSES_MAX * (part->len / part->flash.blk_size)) {
        fal_stop();
    }
    if (!fal_fits(part, at, bytes) || (bytes && below->erase(below->context, calls_cause(&part->calls), at, (uint32_t)bytes) < 0)) {
        return -1;
    }
    return (int)bytes;
}

#endif
