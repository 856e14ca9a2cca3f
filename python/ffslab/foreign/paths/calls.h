/* Causes by call site. The compiler lets functions report when they begin and end (-finstrument-functions); a table says which of them explain
 * the flash operations that happen within them. An operation carries the cause of the innermost one.
 *
 * A file that includes this one is compiled so, has one table, and may define before:
 *   CALLS_WATCHED           a function whose calls that go on are counted (`watched`)
 *   CALLS_REFINED(on, cause)   another cause in the place of one that begins */
#ifndef FFSLAB_CALLS_H
#define FFSLAB_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define QUIET __attribute__((no_instrument_function))

/* In the place of functions that a version of the sources does not have. */
static void QUIET __attribute__((unused)) ffslab_no_function(void) {}

/* What a function calls has causes of its own; it has none; it has none, and the function keeps its own below such a one. */
enum { CALLS_WITHIN, CALLS_LAST, CALLS_LAST_ALWAYS };

struct ffslab_label {
    const void *function;
    uint8_t cause;
    uint8_t lasts;
};

#define CALLS_DEPTH_MAX 128
/* A power of two, several times the number of labels. */
#define CALLS_SLOTS 256

struct ffslab_calls {
    uint32_t depth;
    uint32_t watched;
    uint8_t causes[CALLS_DEPTH_MAX];
    uint8_t lasting[CALLS_DEPTH_MAX];
};

/* Who is in a call: set when one begins, and nobody when it ends. */
static _Thread_local struct ffslab_calls *calls_running;
static const struct ffslab_label *calls_labels;
static uint8_t calls_slots[CALLS_SLOTS];

static inline uint32_t QUIET calls_slot_of(const void *function) {
    return (uint32_t)(((uintptr_t)function >> 4) ^ ((uintptr_t)function >> 12)) % CALLS_SLOTS;
}

/* Before the first call, in one thread. A function that stands in the table twice has the first cause. */
static inline void QUIET calls_prepare(const struct ffslab_label *labels, uint32_t count) {
    if (calls_labels) {
        return;
    }
    for (uint32_t label = 0; label < count; label++) {
        uint32_t at = calls_slot_of(labels[label].function);
        while (calls_slots[at] != 0) {
            at = (at + 1) % CALLS_SLOTS;
        }
        calls_slots[at] = (uint8_t)(label + 1);
    }
    calls_labels = labels;
}

static inline const struct ffslab_label *QUIET calls_label_of(const void *function) {
    for (uint32_t at = calls_slot_of(function); calls_slots[at] != 0; at = (at + 1) % CALLS_SLOTS) {
        if (calls_labels[calls_slots[at] - 1].function == function) {
            return &calls_labels[calls_slots[at] - 1];
        }
    }
    return NULL;
}

static inline void QUIET calls_begin(struct ffslab_calls *on) {
    on->depth = 0;
    on->watched = 0;
    calls_running = on;
}

static inline void QUIET calls_end(void) { calls_running = NULL; }

static inline uint32_t QUIET calls_top(const struct ffslab_calls *on) { return on->depth < CALLS_DEPTH_MAX ? on->depth : CALLS_DEPTH_MAX; }

/* The cause of an operation that happens now; 0: no function explains it. */
static inline uint32_t QUIET calls_cause(const struct ffslab_calls *on) {
    uint32_t depth = calls_top(on);
    return depth ? on->causes[depth - 1] : 0;
}

static inline int QUIET __attribute__((unused)) calls_is_lasting(const struct ffslab_calls *on) {
    uint32_t depth = calls_top(on);
    return depth && on->lasting[depth - 1];
}

void QUIET __cyg_profile_func_enter(void *function, void *from) {
    (void)from;
    struct ffslab_calls *on = calls_running;
    const struct ffslab_label *label = on ? calls_label_of(function) : NULL;
    if (!label) {
        return;
    }
    uint8_t cause = label->cause, lasts = label->lasts != CALLS_WITHIN;
    if (calls_is_lasting(on) && label->lasts != CALLS_LAST_ALWAYS) {
        cause = on->causes[calls_top(on) - 1];
        lasts = 1;
    } else {
#ifdef CALLS_REFINED
        cause = CALLS_REFINED(on, cause);
#endif
    }
#ifdef CALLS_WATCHED
    on->watched += function == (const void *)CALLS_WATCHED;
#endif
    if (on->depth < CALLS_DEPTH_MAX) {
        on->causes[on->depth] = cause;
        on->lasting[on->depth] = lasts;
    }
    on->depth++;
}

void QUIET __cyg_profile_func_exit(void *function, void *from) {
    (void)from;
    struct ffslab_calls *on = calls_running;
    if (on && calls_label_of(function) && on->depth > 0) {
        on->depth--;
#ifdef CALLS_WATCHED
        on->watched -= function == (const void *)CALLS_WATCHED;
#endif
    }
}

#endif
