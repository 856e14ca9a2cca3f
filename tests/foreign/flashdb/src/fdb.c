#include <flashdb.h>
#include <fdb_low_lvl.h>

#define FDB_LOG_TAG ""

static fdb_err_t opened(fdb_db_t db, const char *path) {
    fal_init();
    db->part = fal_partition_find(path);
    if (!db->part) return FDB_PART_NOT_FOUND;
    size_t block = fal_flash_device_find(db->part->flash_name)->blk_size;
    if (db->sec_size == 0) db->sec_size = block;
    db->max_size = db->part->len;
    return db->sec_size % block ? FDB_INIT_FAILED : FDB_NO_ERR;
}
