/* In the place of FlashDB's fdb_cfg.h: the user's own one (FFSLAB_CONFIG), or the values that FlashDB has by itself, and what a simulated
 * chip needs. */
#ifndef FFSLAB_FDB_CFG_H
#define FFSLAB_FDB_CFG_H

#ifdef FFSLAB_CONFIG
#include FFSLAB_CONFIG
#else
/* NOR flash, whose bits are cleared one after the other. */
#define FDB_WRITE_GRAN 1
#endif

#undef FDB_USING_KVDB
#define FDB_USING_KVDB
/* The partition of fal.h, and no files. */
#undef FDB_USING_FAL_MODE
#define FDB_USING_FAL_MODE
#undef FDB_USING_FILE_LIBC_MODE
#undef FDB_USING_FILE_POSIX_MODE
#undef FDB_USING_FILE_MODE
/* Bytes stand as those of the computer here, whatever those of the firmware's do. */
#undef FDB_BIG_ENDIAN
/* Nothing has a version whose default values would be written. */
#undef FDB_KV_AUTO_UPDATE

/* What is logged is not shown. */
#undef FDB_DEBUG_ENABLE
#undef FDB_PRINT
#define FDB_PRINT(...) ((void)0)

#endif
