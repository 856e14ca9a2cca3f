/* ESP-IDF's partition API on a chip of libffslab, for code that stores its data by esp_partition_read(), _write() and _erase_range(). Include it in
 * one source file, in place of the component's own sources; esp_partition.h and esp_err.h are your tree's.
 *
 *     ffslab_esp_partition_use(chip, "storage", ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_DATA_NVS);
 *
 * One partition, not encrypted; no memory maps, no other partitions. */
#ifndef FFSLAB_ESP_PARTITION_H
#define FFSLAB_ESP_PARTITION_H

#include <ffslab.h>
#include <esp_partition.h>
#include <string.h>

static ffslab_chip *ffslab_esp_chip;
static esp_partition_t ffslab_esp_partition;

static inline int ffslab_esp_partition_use(ffslab_chip *chip, const char *label, esp_partition_type_t type, esp_partition_subtype_t subtype) {
    struct ffslab_geometry of;
    int code = ffslab_geometry(chip, &of);
    if (code < 0) return code;
    ffslab_esp_chip = chip;
    memset(&ffslab_esp_partition, 0, sizeof ffslab_esp_partition);
    ffslab_esp_partition.type = type;
    ffslab_esp_partition.subtype = subtype;
    ffslab_esp_partition.size = (uint32_t)of.size_B;
    ffslab_esp_partition.erase_size = of.erase_block_B;
    strncpy(ffslab_esp_partition.label, label, sizeof ffslab_esp_partition.label - 1);
    return FFSLAB_OK;
}

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t subtype, const char *label) {
    const esp_partition_t *of = &ffslab_esp_partition;
    if (!ffslab_esp_chip || (type != ESP_PARTITION_TYPE_ANY && type != of->type)) return NULL;
    if (subtype != ESP_PARTITION_SUBTYPE_ANY && subtype != of->subtype) return NULL;
    return label && strcmp(label, of->label) ? NULL : of;
}

static inline esp_err_t ffslab_esp_check(const esp_partition_t *partition, size_t offset, size_t size) {
    if (!ffslab_esp_chip || partition != &ffslab_esp_partition || offset > partition->size) return ESP_ERR_INVALID_ARG;
    return size > partition->size - offset ? ESP_ERR_INVALID_SIZE : ESP_OK;
}

static inline esp_err_t ffslab_esp_answer(int code) { return code >= 0 ? ESP_OK : ESP_FAIL; }

esp_err_t esp_partition_read(const esp_partition_t *partition, size_t src_offset, void *dst, size_t size) {
    esp_err_t err = ffslab_esp_check(partition, src_offset, size);
    return err != ESP_OK ? err : ffslab_esp_answer(ffslab_read(ffslab_esp_chip, src_offset, dst, size));
}

esp_err_t esp_partition_write(const esp_partition_t *partition, size_t dst_offset, const void *src, size_t size) {
    esp_err_t err = ffslab_esp_check(partition, dst_offset, size);
    return err != ESP_OK ? err : ffslab_esp_answer(ffslab_program(ffslab_esp_chip, dst_offset, src, size));
}

esp_err_t esp_partition_read_raw(const esp_partition_t *partition, size_t src_offset, void *dst, size_t size) {
    return esp_partition_read(partition, src_offset, dst, size);
}

esp_err_t esp_partition_write_raw(const esp_partition_t *partition, size_t dst_offset, const void *src, size_t size) {
    return esp_partition_write(partition, dst_offset, src, size);
}

esp_err_t esp_partition_erase_range(const esp_partition_t *partition, size_t offset, size_t size) {
    esp_err_t err = ffslab_esp_check(partition, offset, size);
    if (err != ESP_OK) return err;
    if (offset % partition->erase_size) return ESP_ERR_INVALID_ARG;
    if (size % partition->erase_size) return ESP_ERR_INVALID_SIZE;
    int code = FFSLAB_OK;
    for (size_t end = offset + size; code >= 0 && offset < end; offset += partition->erase_size) {
        code = ffslab_erase(ffslab_esp_chip, offset);
    }
    return ffslab_esp_answer(code);
}

#endif
