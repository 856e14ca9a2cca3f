#ifndef TOY_FDB_LOW_LVL_H
#define TOY_FDB_LOW_LVL_H

#include <fdb_cfg.h>
#include <fdb_def.h>

#define UNIT ((FDB_WRITE_GRAN + 7) / 8)
#define FDB_WG_ALIGN(size) (((size) + UNIT - 1) / UNIT * UNIT)
#define FDB_WG_ALIGN_DOWN(size) ((size) / UNIT * UNIT)

fdb_err_t _fdb_flash_read(fdb_db_t db, uint32_t addr, void *buf, size_t size);
fdb_err_t _fdb_flash_erase(fdb_db_t db, uint32_t addr, size_t size);
/* Filled up to whole units. */
fdb_err_t _fdb_flash_write_align(fdb_db_t db, uint32_t addr, const void *buf, size_t size);

#endif
