/* Of a stand-in with the interface of Zephyr's NVS. */
#ifndef STAND_IN_NVS_H
#define STAND_IN_NVS_H

#include <sys/types.h>
#include <zephyr/device.h>
#include <zephyr/kernel.h>
#include <zephyr/toolchain.h>

struct nvs_fs {
    off_t offset;
    uint32_t ate_wra;  /* where the next entry comes: number of the sector, and 16 bits of offset */
    uint32_t data_wra; /* where the next value comes */
    uint32_t sector_size;
    uint16_t sector_count;
    bool ready;
    struct k_mutex nvs_lock;
    const struct device *flash_device;
    const struct flash_parameters *flash_parameters;
};

int nvs_mount(struct nvs_fs *fs);
ssize_t nvs_write(struct nvs_fs *fs, uint16_t id, const void *data, size_t len);
int nvs_delete(struct nvs_fs *fs, uint16_t id);
ssize_t nvs_read(struct nvs_fs *fs, uint16_t id, void *data, size_t len);

#endif
