#include <string.h>
#include <flashdb.h>
#include <fdb_low_lvl.h>

#define FDB_LOG_TAG "[utils]"

uint32_t fdb_calc_crc32(uint32_t crc, const void *buf, size_t size) {
    crc = ~crc;
    for (size_t at = 0; at < size; at++) {
        crc ^= ((const uint8_t *)buf)[at];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

fdb_blob_t fdb_blob_make(fdb_blob_t blob, const void *value_buf, size_t buf_len) {
    blob->buf = (void *)value_buf;
    blob->size = buf_len;
    return blob;
}

size_t fdb_blob_read(fdb_db_t db, fdb_blob_t blob) {
    size_t bytes = blob->saved.len < blob->size ? blob->saved.len : blob->size;
    return _fdb_flash_read(db, blob->saved.addr, blob->buf, bytes) == FDB_NO_ERR ? bytes : 0;
}

fdb_err_t _fdb_flash_read(fdb_db_t db, uint32_t addr, void *buf, size_t size) {
    return fal_partition_read(db->part, addr, buf, size) < 0 ? FDB_READ_ERR : FDB_NO_ERR;
}

fdb_err_t _fdb_flash_erase(fdb_db_t db, uint32_t addr, size_t size) {
    return fal_partition_erase(db->part, addr, size) < 0 ? FDB_ERASE_ERR : FDB_NO_ERR;
}

fdb_err_t _fdb_flash_write_align(fdb_db_t db, uint32_t addr, const void *buf, size_t size) {
    uint8_t last[UNIT];
    size_t whole = FDB_WG_ALIGN_DOWN(size);
    if (fal_partition_write(db->part, addr, buf, whole) < 0) return FDB_WRITE_ERR;
    if (whole == size) return FDB_NO_ERR;
    memset(last, 0xFF, sizeof last);
    memcpy(last, (const uint8_t *)buf + whole, size - whole);
    return fal_partition_write(db->part, addr + whole, last, sizeof last) < 0 ? FDB_WRITE_ERR : FDB_NO_ERR;
}
