/* What Rust gives to C code that is built to a library (crates/foreign/src/c): a device, settings, and the words for its causes. */
#ifndef FFSLAB_DEVICE_H
#define FFSLAB_DEVICE_H

#include <stdint.h>
#include <string.h>

/* Flash, or sectors of a translation that can be overwritten: then `program_bytes` is the size of a sector, and an erase says that sectors
 * are not needed any more. Each operation is told its cause: its place in the table of causes, 0 that of whoever called. 0, or less when it
 * failed. */
struct ffslab_device {
    void *context;
    uint64_t size_bytes;
    uint32_t erase_block_bytes;
    uint32_t program_bytes;
    int32_t (*read)(void *context, uint32_t cause, uint64_t at, void *into, uint32_t bytes);
    int32_t (*program)(void *context, uint32_t cause, uint64_t at, const void *data, uint32_t bytes);
    int32_t (*erase)(void *context, uint32_t cause, uint64_t at, uint32_t bytes);
    int32_t (*sync)(void *context, uint32_t cause);
    int32_t (*is_bad)(void *context, uint64_t at);
    int32_t (*mark_bad)(void *context, uint64_t at);
};

/* What operations of a cause are about: enum Kind and enum Purpose of crates/sim/src/cause.rs. */
enum ffslab_kind { KIND_READING, KIND_MOUNTING, KIND_WRITING, KIND_COLLECTING, KIND_ERASING, KIND_CHECKING, KIND_MANAGING };
enum ffslab_purpose { FOR_READ_DATA, FOR_WRITTEN_DATA, FOR_READS, FOR_COST, FOR_FORMATTING };

struct ffslab_cause {
    const char *name;
    const char *sentence;
    uint32_t kind;
    uint32_t purpose;
};

struct ffslab_setting {
    const char *name;
    int64_t value;
};

static inline int64_t __attribute__((no_instrument_function))
ffslab_setting_of(const struct ffslab_setting *settings, uint32_t count, const char *name, int64_t absent) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(settings[i].name, name) == 0) {
            return settings[i].value;
        }
    }
    return absent;
}

#endif
