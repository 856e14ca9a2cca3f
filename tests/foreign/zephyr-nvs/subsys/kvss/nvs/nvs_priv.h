/* Of a stand-in with the interface of Zephyr's NVS: an entry as its documentation has it. */
#ifndef STAND_IN_NVS_PRIV_H
#define STAND_IN_NVS_PRIV_H

#define NOBODY 0xFFFF
#define SECTOR_OF(place) ((place) >> 16)
#define OFFSET_OF(place) ((place)&0xFFFF)

struct nvs_ate {
    uint16_t id;
    uint16_t offset;
    uint16_t len;
    uint8_t part;
    uint8_t crc8;
} __packed;

BUILD_ASSERT(sizeof(struct nvs_ate) == 8, "as in flash");

#endif
