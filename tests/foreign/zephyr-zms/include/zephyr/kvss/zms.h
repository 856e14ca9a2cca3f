/* Of a stand-in with the interface of Zephyr's ZMS. */
#ifndef STAND_IN_ZMS_H
#define STAND_IN_ZMS_H

#include <sys/types.h>
#include <zephyr/device.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/kernel.h>
#include <zephyr/toolchain.h>

typedef uint32_t zms_id_t;

struct zms_fs {
    off_t offset;
    uint64_t ate_wra;  /* where the next entry comes: number of the sector, and 32 bits of offset */
    uint64_t data_wra; /* where the next value comes */
    uint32_t sector_size;
    uint32_t sector_count;
    uint8_t sector_cycle;
    bool ready;
    struct k_mutex zms_lock;
    const struct device *flash_device;
    const struct flash_parameters *flash_parameters;
    size_t ate_size;
};

int zms_mount(struct zms_fs *fs);
ssize_t zms_write(struct zms_fs *fs, zms_id_t id, const void *data, size_t len);
int zms_delete(struct zms_fs *fs, zms_id_t id);
ssize_t zms_read(struct zms_fs *fs, zms_id_t id, void *data, size_t len);
ssize_t zms_read_hist(struct zms_fs *fs, zms_id_t id, void *data, size_t len, uint32_t cnt);

#endif
