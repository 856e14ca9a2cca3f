/* What the sources of a store of Zephyr expect of Zephyr: this file stands in the place of each header of it that they include, but for
 * their own. Types, macros and declarations of the flash API, of mutexes, logging and check sums, as far as stores use them; who gives
 * the flash its bytes stands in flash.h.
 *
 * One program calls the store at a time, so that a mutex has nothing to do; what is logged is not shown. */
#ifndef FFSLAB_ZEPHYR_PORT_H
#define FFSLAB_ZEPHYR_PORT_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* ---- words ---------------------------------------------------------------------------------------------------------- */

#define __packed __attribute__((packed))
#ifndef __unused
#define __unused __attribute__((unused))
#endif
#define __deprecated __attribute__((deprecated))
#define __fallthrough __attribute__((fallthrough))
#define ARG_UNUSED(argument) ((void)(argument))
#define BUILD_ASSERT(holds, ...) _Static_assert(holds, "" __VA_ARGS__)
#define __ASSERT(holds, ...) ((void)0)
#define __ASSERT_NO_MSG(holds) ((void)0)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BIT(number) (1UL << (number))
#define BIT64(number) (1ULL << (number))
#define BIT_MASK(count) (BIT(count) - 1UL)
/* Bits from the lowest to the highest, and values in the place that such a mask says. */
#define GENMASK64(highest, lowest) (~0ULL >> (63 - (highest)) & ~0ULL << (lowest))
#define GENMASK(highest, lowest) ((uint32_t)GENMASK64(highest, lowest))
#define FFSLAB_LOWEST(mask) ((mask) & -(uint64_t)(mask))
#define FIELD_GET(mask, value) (((value) & (mask)) / FFSLAB_LOWEST(mask))
#define FIELD_PREP(mask, value) ((value) * FFSLAB_LOWEST(mask) & (mask))
#define IS_POWER_OF_TWO(value) ((value) != 0 && ((value) & ((value) - 1)) == 0)
#define LOG2(value) (63 - __builtin_clzll(value))
#define SIZEOF_FIELD(type, member) sizeof(((type *)0)->member)
#define KB(count) ((size_t)(count) << 10)
#define MB(count) ((size_t)(count) << 20)

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

/* 1 if a setting is defined as 1, and 0 if it is not defined at all: the name of one that is 1 becomes two arguments. */
#define IS_ENABLED(setting) FFSLAB_EXPANDED(setting)
#define FFSLAB_EXPANDED(value) FFSLAB_CHOSEN(FFSLAB_ONE_##value 1, 0, 0)
#define FFSLAB_ONE_1 0,
#define FFSLAB_CHOSEN(...) FFSLAB_SECOND(__VA_ARGS__)
#define FFSLAB_SECOND(first, second, ...) second

/* ---- logging -------------------------------------------------------------------------------------------------------- */

#define LOG_MODULE_REGISTER(...) struct ffslab_no_log
#define LOG_MODULE_DECLARE(...) struct ffslab_no_log
#define LOG_ERR(...) ((void)0)
#define LOG_WRN(...) ((void)0)
#define LOG_INF(...) ((void)0)
#define LOG_DBG(...) ((void)0)

/* ---- mutexes -------------------------------------------------------------------------------------------------------- */

struct k_mutex {
    char nothing;
};

#define K_FOREVER 0
#define k_mutex_init(mutex) ((void)(mutex), 0)
#define k_mutex_lock(mutex, timeout) ((void)(mutex), 0)
#define k_mutex_unlock(mutex) ((void)(mutex), 0)

/* ---- flash ---------------------------------------------------------------------------------------------------------- */

struct device;

struct flash_parameters {
    size_t write_block_size;
    uint8_t erase_value;
};

struct flash_pages_info {
    off_t start_offset;
    size_t size;
    uint32_t index;
};

/* A block has to be erased before it is written again. */
#define FLASH_ERASE_C_EXPLICIT 1
#define flash_params_get_erase_cap(parameters) ((void)(parameters), FLASH_ERASE_C_EXPLICIT)

int flash_read(const struct device *device, off_t offset, void *into, size_t bytes);
int flash_write(const struct device *device, off_t offset, const void *data, size_t bytes);
int flash_erase(const struct device *device, off_t offset, size_t bytes);
/* Of flash that has to be erased it is an erase. */
int flash_flatten(const struct device *device, off_t offset, size_t bytes);
size_t flash_get_write_block_size(const struct device *device);
const struct flash_parameters *flash_get_parameters(const struct device *device);
int flash_get_page_info_by_offs(const struct device *device, off_t offset, struct flash_pages_info *info);
bool device_is_ready(const struct device *device);
const struct device *device_get_binding(const char *name);

/* Part of a device, from its first byte on: all of it. */
struct flash_area {
    uint8_t fa_id;
    off_t fa_off;
    size_t fa_size;
    const struct device *fa_dev;
};

struct flash_sector {
    off_t fs_off;
    size_t fs_size;
};

int flash_area_open(uint8_t id, const struct flash_area **area);
void flash_area_close(const struct flash_area *area);
int flash_area_read(const struct flash_area *area, off_t offset, void *into, size_t bytes);
int flash_area_write(const struct flash_area *area, off_t offset, const void *data, size_t bytes);
int flash_area_erase(const struct flash_area *area, off_t offset, size_t bytes);
int flash_area_flatten(const struct flash_area *area, off_t offset, size_t bytes);
uint32_t flash_area_align(const struct flash_area *area);
uint8_t flash_area_erased_val(const struct flash_area *area);
const struct device *flash_area_get_device(const struct flash_area *area);

/* ---- check sums ----------------------------------------------------------------------------------------------------- */

#define CRC8_CCITT_INITIAL_VALUE 0xFF

/* Polynomial 0x07, the highest bit first. */
static inline uint8_t __attribute__((no_instrument_function)) crc8_ccitt(uint8_t sum, const void *data, size_t bytes) {
    for (size_t at = 0; at < bytes; at++) {
        sum ^= ((const uint8_t *)data)[at];
        for (int bit = 0; bit < 8; bit++) {
            sum = (uint8_t)(sum << 1 ^ (sum & 0x80 ? 0x07 : 0));
        }
    }
    return sum;
}

/* Polynomial 0x1021, the lowest bit first. */
static inline uint16_t __attribute__((no_instrument_function)) crc16_ccitt(uint16_t sum, const uint8_t *data, size_t bytes) {
    for (size_t at = 0; at < bytes; at++) {
        sum ^= data[at];
        for (int bit = 0; bit < 8; bit++) {
            sum = (uint16_t)(sum >> 1 ^ (sum & 1 ? 0x8408 : 0));
        }
    }
    return sum;
}

/* Polynomial 0x04C11DB7, the lowest bit first, begun and ended with all bits turned. */
static inline uint32_t __attribute__((no_instrument_function)) crc32_ieee_update(uint32_t sum, const uint8_t *data, size_t bytes) {
    sum = ~sum;
    for (size_t at = 0; at < bytes; at++) {
        sum ^= data[at];
        for (int bit = 0; bit < 8; bit++) {
            sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320 : 0);
        }
    }
    return ~sum;
}

static inline uint32_t __attribute__((no_instrument_function)) crc32_ieee(const uint8_t *data, size_t bytes) {
    return crc32_ieee_update(0, data, bytes);
}

#endif
