/* Of a toy with the interface of Dhara. */
#ifndef TOY_DHARA_MAP_H
#define TOY_DHARA_MAP_H

#include "journal.h"

typedef uint32_t dhara_sector_t;

struct dhara_map {
    struct dhara_journal journal;
    uint8_t gc_ratio;
};

void dhara_map_init(struct dhara_map *m, const struct dhara_nand *n, uint8_t *page_buf, uint8_t gc_ratio);
int dhara_map_resume(struct dhara_map *m, dhara_error_t *err);
dhara_sector_t dhara_map_capacity(const struct dhara_map *m);
int dhara_map_read(struct dhara_map *m, dhara_sector_t s, uint8_t *data, dhara_error_t *err);
int dhara_map_write(struct dhara_map *m, dhara_sector_t s, const uint8_t *data, dhara_error_t *err);
int dhara_map_trim(struct dhara_map *m, dhara_sector_t s, dhara_error_t *err);
int dhara_map_sync(struct dhara_map *m, dhara_error_t *err);

#endif
