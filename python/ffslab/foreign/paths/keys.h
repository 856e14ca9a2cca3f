/* What Rust calls of a store of keys and values in a library of its own (crates/foreign/src/c/keys.rs), on a device that it is given.
 *
 * Results below zero are error numbers of Linux. A key is bytes, or a number of `uint32_t`: ffslab_keys_numbers() says which.
 * ffslab_keys_store() is the name of the file system, so that a library of another store is told. */
#ifndef FFSLAB_KEYS_H
#define FFSLAB_KEYS_H

#include "device.h"

/* Of this interface: a library of another one is not loaded. */
#define FFSLAB_KEYS_ABI 2

struct ffslab_keys;

/* In the place of how many bytes a value has: a key of which one was emitted before is gone. */
#define FFSLAB_KEYS_GONE UINT32_MAX

/* A key that is emitted again has the later value. */
typedef void (*ffslab_keys_emit)(void *context, const uint8_t *key, uint32_t key_bytes, const uint8_t *value, uint32_t bytes);

#endif
