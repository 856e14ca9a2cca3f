/* What Rust calls of a file system in a library of its own (crates/foreign/src/c/paths.rs): files by path, on a device that it is given.
 *
 * Results below zero are error numbers of Linux. Paths begin with '/'. Handles are numbers from 0 on. */
#ifndef FFSLAB_PATHS_H
#define FFSLAB_PATHS_H

#include "device.h"

/* Of this interface: a library of another one is not loaded. */
#define FFSLAB_PATHS_ABI 2

struct ffslab_paths;

struct ffslab_paths_info {
    uint32_t is_directory;
    uint64_t size_bytes;
    char name[256];
};

enum ffslab_paths_how { HOW_READ = 1, HOW_WRITE = 2, HOW_CREATE = 4, HOW_EXCLUSIVE = 8, HOW_TRUNCATE = 16 };

typedef void (*ffslab_paths_emit)(void *context, const struct ffslab_paths_info *entry);

#endif
