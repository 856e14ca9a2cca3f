/* What Rust calls of a file system in a library of its own (crates/foreign/src/c.rs): files by path, on a device that it is given.
 *
 * Results below zero are error numbers of Linux. Paths begin with '/'. Handles are numbers from 0 on. */
#ifndef FFSLAB_PATHS_H
#define FFSLAB_PATHS_H

#include <stdint.h>

/* Of this interface: a library of another one is not loaded. */
#define FFSLAB_PATHS_ABI 1

struct ffslab_paths;

/* Each operation is told its cause: its place in the table of ffslab_paths_causes(). 0, or less when it failed. */
struct ffslab_paths_device {
    void *context;
    uint64_t size_bytes;
    uint32_t erase_block_bytes;
    uint32_t program_bytes;
    int32_t (*read)(void *context, uint32_t cause, uint64_t at, void *into, uint32_t bytes);
    int32_t (*program)(void *context, uint32_t cause, uint64_t at, const void *data, uint32_t bytes);
    int32_t (*erase)(void *context, uint32_t cause, uint64_t at);
};

/* What operations of a cause are about: enum Kind and enum Purpose of crates/sim/src/cause.rs. */
enum ffslab_paths_kind { KIND_READING, KIND_MOUNTING, KIND_WRITING, KIND_COLLECTING, KIND_ERASING, KIND_CHECKING, KIND_MANAGING };
enum ffslab_paths_purpose { FOR_READ_DATA, FOR_WRITTEN_DATA, FOR_READS, FOR_COST, FOR_FORMATTING };

struct ffslab_paths_cause {
    const char *name;
    const char *sentence;
    uint32_t kind;
    uint32_t purpose;
};

struct ffslab_paths_setting {
    const char *name;
    int64_t value;
};

struct ffslab_paths_info {
    uint32_t is_directory;
    uint64_t size_bytes;
    char name[256];
};

enum ffslab_paths_how { HOW_READ = 1, HOW_WRITE = 2, HOW_CREATE = 4, HOW_EXCLUSIVE = 8, HOW_TRUNCATE = 16 };

#endif
