#ifndef TOY_SPIFFS_NUCLEUS_H
#define TOY_SPIFFS_NUCLEUS_H

#include "spiffs.h"

#define SPIFFS_UNDEFINED_LEN ((u32_t)-1)
#define SPIFFS_VIS_END (SPIFFS_ERR_INTERNAL - 22)
#define TOY_BYTES_MAX 4000

/* An open file, all in memory. */
typedef struct {
    u32_t block, size, at;
    u8_t is_open, is_changed;
    u8_t data[TOY_BYTES_MAX];
} spiffs_fd;

typedef struct {
    u8_t unused;
} spiffs_cache;
typedef spiffs_cache spiffs_cache_page;

/* What stands at the start of the block of a file. */
struct toy_header {
    u32_t size;
    u8_t name[SPIFFS_OBJ_NAME_LEN];
};

#endif
