/* One sector holds all, as records that follow each other; when it is full, what counts is copied into the next one. A record without a
 * value says that its key is gone, and one that is torn ends what counts. */
#include <stdlib.h>
#include <string.h>
#include <flashdb.h>
#include <fdb_low_lvl.h>

#define FDB_LOG_TAG "[kv]"

#define GONE 0xFFFFFFFF
#define KV_HDR_DATA_SIZE FDB_WG_ALIGN(sizeof(struct record))
#define SECTOR_HDR_DATA_SIZE FDB_WG_ALIGN(sizeof(struct head))
/* What stays free, so that a record never ends with its sector. */
#define FDB_SEC_REMAIN_THRESHOLD (KV_HDR_DATA_SIZE + FDB_KV_NAME_MAX)
#define FDB_GC_EMPTY_SEC_THRESHOLD 1

struct head {
    uint32_t generation;
    uint32_t turned;
};

struct record {
    uint32_t name_len;
    uint32_t value_len;
    /* Of the lengths, the name and the value. */
    uint32_t sum;
};

static uint32_t bytes_of(uint32_t value_len) { return value_len == GONE ? 0 : value_len; }

static uint32_t sum_of(const struct record *record, const void *name, const void *value) {
    uint32_t sum = fdb_calc_crc32(0, record, offsetof(struct record, sum));
    sum = fdb_calc_crc32(sum, name, record->name_len);
    return fdb_calc_crc32(sum, value, bytes_of(record->value_len));
}

/* The record at `start`, if it is whole. */
static void read_kv(fdb_kvdb_t db, uint32_t start, fdb_kv_t kv) {
    struct record record;
    kv->crc_is_ok = false;
    kv->addr.start = start;
    if (_fdb_flash_read(&db->parent, start, &record, sizeof record)) return;
    uint32_t left = db->sector + db->parent.sec_size - start;
    if (record.name_len >= FDB_KV_NAME_MAX || bytes_of(record.value_len) > left) return;
    uint32_t name_at = start + KV_HDR_DATA_SIZE, value_at = name_at + FDB_WG_ALIGN(record.name_len);
    uint32_t bytes = bytes_of(record.value_len);
    uint8_t *value = malloc(bytes + 1);
    if (!_fdb_flash_read(&db->parent, name_at, kv->name, record.name_len) && !_fdb_flash_read(&db->parent, value_at, value, bytes)) {
        kv->crc_is_ok = sum_of(&record, kv->name, value) == record.sum;
    }
    free(value);
    kv->name[record.name_len] = 0;
    kv->name_len = (uint8_t)record.name_len;
    kv->value_len = record.value_len;
    kv->addr.value = value_at;
    kv->len = value_at + FDB_WG_ALIGN(bytes) - start;
}

/* The newest record of a key. */
static bool find_kv(fdb_kvdb_t db, const char *key, fdb_kv_t kv) {
    bool found = false;
    for (uint32_t at = db->sector + SECTOR_HDR_DATA_SIZE; at != db->end;) {
        struct fdb_kv here;
        read_kv(db, at, &here);
        if (!here.crc_is_ok) return false;
        if (!strcmp(here.name, key)) *kv = here, found = true;
        at += here.len;
    }
    return found;
}

static fdb_err_t append(fdb_kvdb_t db, uint32_t *end, const char *key, const void *value, uint32_t value_len) {
    struct record record = {(uint32_t)strlen(key), value_len};
    record.sum = sum_of(&record, key, value);
    uint32_t name_at = *end + KV_HDR_DATA_SIZE, value_at = name_at + FDB_WG_ALIGN(record.name_len);
    fdb_err_t result = _fdb_flash_write_align(&db->parent, *end, &record, sizeof record);
    if (!result) result = _fdb_flash_write_align(&db->parent, name_at, key, record.name_len);
    if (!result) result = _fdb_flash_write_align(&db->parent, value_at, value, bytes_of(value_len));
    *end = value_at + FDB_WG_ALIGN(bytes_of(value_len));
    return result;
}

static fdb_err_t create_kv_blob(fdb_kvdb_t db, const char *key, const void *value, uint32_t value_len) {
    return append(db, &db->end, key, value, value_len);
}

static fdb_err_t del_kv(fdb_kvdb_t db, const char *key) { return append(db, &db->end, key, NULL, GONE); }

static fdb_err_t headed(fdb_kvdb_t db, uint32_t sector, uint32_t generation) {
    struct head head = {generation, ~generation};
    return _fdb_flash_write_align(&db->parent, sector, &head, sizeof head);
}

static fdb_err_t format_sector(fdb_kvdb_t db, uint32_t sector) { return _fdb_flash_erase(&db->parent, sector, db->parent.sec_size); }

static fdb_err_t move_kv(fdb_kvdb_t db, uint32_t *end, fdb_kv_t kv) {
    uint8_t *value = malloc(kv->value_len + 1);
    fdb_err_t result = _fdb_flash_read(&db->parent, kv->addr.value, value, kv->value_len);
    if (!result) result = append(db, end, kv->name, value, kv->value_len);
    free(value);
    return result;
}

/* The header comes last: before it the copy does not count. */
static fdb_err_t do_gc(fdb_kvdb_t db) {
    uint32_t from = db->sector, to = (from + db->parent.sec_size) % db->parent.max_size, end = to + SECTOR_HDR_DATA_SIZE;
    for (uint32_t at = from + SECTOR_HDR_DATA_SIZE; at != db->end;) {
        struct fdb_kv kv, newest;
        read_kv(db, at, &kv);
        if (!kv.crc_is_ok) return FDB_READ_ERR;
        if (find_kv(db, kv.name, &newest) && newest.addr.start == at && kv.value_len != GONE) {
            fdb_err_t result = move_kv(db, &end, &kv);
            if (result) return result;
        }
        at += kv.len;
    }
    fdb_err_t result = headed(db, to, db->generation + 1);
    if (result) return result;
    db->sector = to, db->end = end, db->generation++;
    return format_sector(db, from);
}

static bool is_blank(fdb_kvdb_t db, uint32_t at, uint32_t end) {
    uint8_t byte[64];
    for (uint32_t bytes; at < end; at += bytes) {
        bytes = end - at < sizeof byte ? end - at : sizeof byte;
        if (_fdb_flash_read(&db->parent, at, byte, bytes)) return false;
        for (uint32_t i = 0; i < bytes; i++) {
            if (byte[i] != 0xFF) return false;
        }
    }
    return true;
}

/* The newest sector holds all; what else is there is left from a power cut. With FDB_KV_NAME_MAX below 16 it waits for ever for the first
 * sector to change, and below 8 it asserts that it does not do that. */
fdb_err_t fdb_kvdb_init(fdb_kvdb_t db, const char *name, const char *path, struct fdb_default_kv *default_kv, void *user_data) {
    fdb_err_t result = opened(&db->parent, path);
    FDB_ASSERT(FDB_KV_NAME_MAX >= 8);
    for (uint8_t byte = 0xFF; !result && byte == 0xFF && FDB_KV_NAME_MAX < 16;) result = _fdb_flash_read(&db->parent, 0, &byte, 1);
    for (uint32_t at = 0; !result && at < db->parent.max_size; at += db->parent.sec_size) {
        struct head head;
        result = _fdb_flash_read(&db->parent, at, &head, sizeof head);
        if (head.turned == ~head.generation && head.generation > db->generation) db->generation = head.generation, db->sector = at;
    }
    for (uint32_t at = 0; !result && at < db->parent.max_size; at += db->parent.sec_size) {
        if (db->generation && at == db->sector) continue;
        if (!is_blank(db, at, at + db->parent.sec_size)) result = format_sector(db, at);
    }
    if (!result && !db->generation) result = headed(db, 0, db->generation = 1);
    if (result) return result;
    struct fdb_kv kv = {.crc_is_ok = true};
    for (db->end = db->sector + SECTOR_HDR_DATA_SIZE; read_kv(db, db->end, &kv), kv.crc_is_ok;) db->end += kv.len;
    FDB_INFO("%s has %u bytes", name, db->parent.max_size);
    return is_blank(db, db->end, db->sector + db->parent.sec_size) ? FDB_NO_ERR : do_gc(db);
}

static fdb_err_t make_room(fdb_kvdb_t db, const char *key, uint32_t bytes) {
    uint32_t needed = KV_HDR_DATA_SIZE + FDB_WG_ALIGN(strlen(key)) + FDB_WG_ALIGN(bytes) + FDB_SEC_REMAIN_THRESHOLD;
    for (int tries = 0; db->end - db->sector + needed > db->parent.sec_size; tries++) {
        fdb_err_t result = tries ? FDB_SAVED_FULL : do_gc(db);
        if (result) return result;
    }
    return FDB_NO_ERR;
}

fdb_err_t fdb_kv_set_blob(fdb_kvdb_t db, const char *key, fdb_blob_t blob) {
    fdb_err_t result = make_room(db, key, (uint32_t)blob->size);
    return result ? result : create_kv_blob(db, key, blob->buf, (uint32_t)blob->size);
}

fdb_kv_t fdb_kv_get_obj(fdb_kvdb_t db, const char *key, fdb_kv_t kv) {
    return find_kv(db, key, kv) && kv->value_len != GONE ? kv : NULL;
}

fdb_err_t fdb_kv_del(fdb_kvdb_t db, const char *key) {
    struct fdb_kv kv;
    if (!fdb_kv_get_obj(db, key, &kv)) return FDB_KV_NAME_ERR;
    fdb_err_t result = make_room(db, key, 0);
    return result ? result : del_kv(db, key);
}

fdb_blob_t fdb_kv_to_blob(fdb_kv_t kv, fdb_blob_t blob) {
    blob->saved.meta_addr = kv->addr.start;
    blob->saved.addr = kv->addr.value;
    blob->saved.len = kv->value_len;
    return blob;
}

fdb_kv_iterator_t fdb_kv_iterator_init(fdb_kvdb_t db, fdb_kv_iterator_t itr) {
    itr->next = db->sector + SECTOR_HDR_DATA_SIZE;
    return itr;
}

bool fdb_kv_iterate(fdb_kvdb_t db, fdb_kv_iterator_t itr) {
    while (itr->next != db->end) {
        struct fdb_kv newest;
        read_kv(db, itr->next, &itr->curr_kv);
        if (!itr->curr_kv.crc_is_ok) return false;
        itr->next += itr->curr_kv.len;
        bool is_newest = find_kv(db, itr->curr_kv.name, &newest) && newest.addr.start == itr->curr_kv.addr.start;
        if (is_newest && newest.value_len != GONE) return true;
    }
    return false;
}
