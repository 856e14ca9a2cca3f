/* The calls of Zephyr's flash API that pass what they are given on to a driver, for a test without Zephyr's own headers. */
#ifndef STUB_ZEPHYR_FLASH_H
#define STUB_ZEPHYR_FLASH_H

#include <zephyr/device.h>

struct flash_pages_layout {
    size_t pages_count;
    size_t pages_size;
};

struct flash_parameters {
    const size_t write_block_size;
    struct {
        bool no_explicit_erase : 1;
    } caps;
    uint8_t erase_value;
};

struct flash_driver_api {
    int (*read)(const struct device *dev, off_t offset, void *data, size_t len);
    int (*write)(const struct device *dev, off_t offset, const void *data, size_t len);
    int (*erase)(const struct device *dev, off_t offset, size_t size);
    const struct flash_parameters *(*get_parameters)(const struct device *dev);
    int (*get_size)(const struct device *dev, uint64_t *size);
#ifdef CONFIG_FLASH_PAGE_LAYOUT
    void (*page_layout)(const struct device *dev, const struct flash_pages_layout **layout, size_t *layout_size);
#endif
};

static inline const struct flash_driver_api *stub_api(const struct device *dev) { return (const struct flash_driver_api *)dev->api; }
static inline int flash_read(const struct device *dev, off_t offset, void *data, size_t len) { return stub_api(dev)->read(dev, offset, data, len); }
static inline int flash_write(const struct device *dev, off_t offset, const void *data, size_t len) {
    return stub_api(dev)->write(dev, offset, data, len);
}
static inline int flash_erase(const struct device *dev, off_t offset, size_t size) { return stub_api(dev)->erase(dev, offset, size); }
static inline const struct flash_parameters *flash_get_parameters(const struct device *dev) { return stub_api(dev)->get_parameters(dev); }

#endif
