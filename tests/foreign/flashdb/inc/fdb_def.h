/* The types of a toy with the interface of FlashDB's KVDB. */
#ifndef TOY_FDB_DEF_H
#define TOY_FDB_DEF_H

#define FDB_SW_VERSION "2.99.1"

#ifndef FDB_KV_NAME_MAX
#define FDB_KV_NAME_MAX 64
#endif
#define FDB_INFO(...) FDB_PRINT(__VA_ARGS__)
#define FDB_ASSERT(holds) while (!(holds))

typedef enum {
    FDB_NO_ERR,
    FDB_ERASE_ERR,
    FDB_READ_ERR,
    FDB_WRITE_ERR,
    FDB_PART_NOT_FOUND,
    FDB_KV_NAME_ERR,
    FDB_KV_NAME_EXIST,
    FDB_SAVED_FULL,
    FDB_INIT_FAILED,
} fdb_err_t;

struct fdb_kv {
    bool crc_is_ok;
    uint8_t name_len;
    uint32_t len;
    uint32_t value_len;
    char name[FDB_KV_NAME_MAX];
    struct {
        uint32_t start;
        uint32_t value;
    } addr;
};
typedef struct fdb_kv *fdb_kv_t;

struct fdb_kv_iterator {
    struct fdb_kv curr_kv;
    uint32_t next;
};
typedef struct fdb_kv_iterator *fdb_kv_iterator_t;

struct fdb_db {
    const struct fal_partition *part;
    uint32_t sec_size;
    uint32_t max_size;
};
typedef struct fdb_db *fdb_db_t;

struct fdb_kvdb {
    struct fdb_db parent;
    uint32_t sector;
    uint32_t generation;
    uint32_t end;
};
typedef struct fdb_kvdb *fdb_kvdb_t;

struct fdb_default_kv;

struct fdb_blob {
    void *buf;
    size_t size;
    struct {
        uint32_t meta_addr;
        uint32_t addr;
        size_t len;
    } saved;
};
typedef struct fdb_blob *fdb_blob_t;

#endif
