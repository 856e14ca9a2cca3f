/* The flash API of Zephyr that port.h declares, on the device that Rust gives. It stands behind the sources of a store and calls.h.
 *
 * A page of Zephyr is an erase block. What is no whole number of units that are written at once, or reaches beyond the device, is refused
 * with EINVAL, as drivers do (drivers/flash/spi_nor.c). */
#ifndef FFSLAB_ZEPHYR_FLASH_DEVICE_H
#define FFSLAB_ZEPHYR_FLASH_DEVICE_H

#include "calls.h"
#include "device.h"
#include "port.h"

struct device {
    struct ffslab_device below;
    struct flash_parameters parameters;
    struct flash_area area;
    struct ffslab_calls calls;
};

static bool QUIET fits(const struct device *device, off_t offset, size_t bytes, size_t unit) {
    uint64_t size = device->below.size_bytes;
    return offset >= 0 && (uint64_t)offset <= size && bytes <= size - (uint64_t)offset && offset % (off_t)unit == 0 && bytes % unit == 0;
}

int QUIET flash_read(const struct device *device, off_t offset, void *into, size_t bytes) {
    if (!fits(device, offset, bytes, 1)) {
        return -EINVAL;
    }
    const struct ffslab_device *below = &device->below;
    return bytes ? below->read(below->context, calls_cause(&device->calls), (uint64_t)offset, into, (uint32_t)bytes) : 0;
}

int QUIET flash_write(const struct device *device, off_t offset, const void *data, size_t bytes) {
    if (!fits(device, offset, bytes, device->parameters.write_block_size)) {
        return -EINVAL;
    }
    const struct ffslab_device *below = &device->below;
    return bytes ? below->program(below->context, calls_cause(&device->calls), (uint64_t)offset, data, (uint32_t)bytes) : 0;
}

int QUIET flash_erase(const struct device *device, off_t offset, size_t bytes) {
    if (!fits(device, offset, bytes, device->below.erase_block_bytes)) {
        return -EINVAL;
    }
    const struct ffslab_device *below = &device->below;
    return bytes ? below->erase(below->context, calls_cause(&device->calls), (uint64_t)offset, (uint32_t)bytes) : 0;
}

int QUIET flash_flatten(const struct device *device, off_t offset, size_t bytes) { return flash_erase(device, offset, bytes); }

const struct flash_parameters *QUIET flash_get_parameters(const struct device *device) { return &device->parameters; }

size_t QUIET flash_get_write_block_size(const struct device *device) { return device->parameters.write_block_size; }

int QUIET flash_get_page_info_by_offs(const struct device *device, off_t offset, struct flash_pages_info *info) {
    uint32_t block_bytes = device->below.erase_block_bytes;
    if (!fits(device, offset, 1, 1)) {
        return -EINVAL;
    }
    info->index = (uint32_t)(offset / block_bytes);
    info->start_offset = (off_t)info->index * block_bytes;
    info->size = block_bytes;
    return 0;
}

bool QUIET device_is_ready(const struct device *device) { return device != NULL; }

/* Nobody asks for a device by its name: a store is given one. */
const struct device *QUIET device_get_binding(const char *name) {
    ARG_UNUSED(name);
    return NULL;
}

/* The area is that of the device whose call goes on, whatever its number. */
int QUIET flash_area_open(uint8_t id, const struct flash_area **area) {
    struct device *device = (struct device *)((char *)calls_running - offsetof(struct device, calls));
    device->area = (struct flash_area){.fa_id = id, .fa_size = (size_t)device->below.size_bytes, .fa_dev = device};
    *area = &device->area;
    return 0;
}

void QUIET flash_area_close(const struct flash_area *area) { ARG_UNUSED(area); }

int QUIET flash_area_read(const struct flash_area *area, off_t offset, void *into, size_t bytes) {
    return flash_read(area->fa_dev, area->fa_off + offset, into, bytes);
}

int QUIET flash_area_write(const struct flash_area *area, off_t offset, const void *data, size_t bytes) {
    return flash_write(area->fa_dev, area->fa_off + offset, data, bytes);
}

int QUIET flash_area_erase(const struct flash_area *area, off_t offset, size_t bytes) {
    return flash_erase(area->fa_dev, area->fa_off + offset, bytes);
}

int QUIET flash_area_flatten(const struct flash_area *area, off_t offset, size_t bytes) { return flash_area_erase(area, offset, bytes); }

uint32_t QUIET flash_area_align(const struct flash_area *area) { return (uint32_t)flash_get_write_block_size(area->fa_dev); }

uint8_t QUIET flash_area_erased_val(const struct flash_area *area) { return flash_get_parameters(area->fa_dev)->erase_value; }

const struct device *QUIET flash_area_get_device(const struct flash_area *area) { return area->fa_dev; }

#endif
