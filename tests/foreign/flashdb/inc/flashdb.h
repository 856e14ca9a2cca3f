/* A toy with the interface of FlashDB's KVDB. */
#ifndef TOY_FLASHDB_H
#define TOY_FLASHDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <fdb_cfg.h>

#include <fal.h>
#include <fdb_def.h>

fdb_err_t fdb_kvdb_init(fdb_kvdb_t db, const char *name, const char *path, struct fdb_default_kv *default_kv, void *user_data);
fdb_blob_t fdb_blob_make(fdb_blob_t blob, const void *value_buf, size_t buf_len);
size_t fdb_blob_read(fdb_db_t db, fdb_blob_t blob);
fdb_err_t fdb_kv_set_blob(fdb_kvdb_t db, const char *key, fdb_blob_t blob);
fdb_err_t fdb_kv_del(fdb_kvdb_t db, const char *key);
fdb_kv_t fdb_kv_get_obj(fdb_kvdb_t db, const char *key, fdb_kv_t kv);
fdb_blob_t fdb_kv_to_blob(fdb_kv_t kv, fdb_blob_t blob);
fdb_kv_iterator_t fdb_kv_iterator_init(fdb_kvdb_t db, fdb_kv_iterator_t itr);
bool fdb_kv_iterate(fdb_kvdb_t db, fdb_kv_iterator_t itr);

uint32_t fdb_calc_crc32(uint32_t crc, const void *buf, size_t size);

#endif
