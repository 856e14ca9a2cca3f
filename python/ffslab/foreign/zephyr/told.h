/* What a store of Zephyr tells Rust of itself (keys.h), by its CAUSES, its LABELS and the name STORE, and how Rust calls it: `device` of struct
 * ffslab_keys is what it stands on. */
#ifndef FFSLAB_ZEPHYR_TOLD_H
#define FFSLAB_ZEPHYR_TOLD_H

#include "keys.h"

#define CAUSE_COUNT (sizeof CAUSES / sizeof CAUSES[0])
#define LABEL_COUNT (sizeof LABELS / sizeof LABELS[0])

static void QUIET __attribute__((constructor)) prepare(void) { calls_prepare(LABELS, LABEL_COUNT); }

uint32_t QUIET ffslab_keys_abi(void) { return FFSLAB_KEYS_ABI; }

const char *QUIET ffslab_keys_store(void) { return STORE; }

const struct ffslab_cause *QUIET ffslab_keys_causes(uint32_t *count) {
    *count = CAUSE_COUNT;
    return CAUSES;
}

/* Evaluates a call of the store. */
#define CALL(on, expression)              \
    do {                                  \
        calls_begin(&(on)->device.calls); \
        int64_t code = (expression);      \
        calls_end();                      \
        return code;                      \
    } while (0)

#endif
