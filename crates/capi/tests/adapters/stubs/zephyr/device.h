/* What the connection with Zephyr needs of its device model, for a test without Zephyr's own headers. */
#ifndef STUB_ZEPHYR_DEVICE_H
#define STUB_ZEPHYR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct device_state {
    uint8_t init_res;
    bool initialized : 1;
};

struct device {
    const char *name;
    const void *config;
    const void *api;
    struct device_state *state;
    void *data;
};

static inline bool device_is_ready(const struct device *dev) { return dev && dev->state->initialized && !dev->state->init_res; }

#endif
