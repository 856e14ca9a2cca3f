/* Of a stand-in with the interface of Zephyr's ZMS: an entry as its documentation has it. */
#ifndef STAND_IN_ZMS_PRIV_H
#define STAND_IN_ZMS_PRIV_H

#define NOBODY GENMASK(31, 0)
#define SECTOR_OF(place) FIELD_GET(GENMASK64(63, 32), place)
#define OFFSET_OF(place) FIELD_GET(GENMASK64(31, 0), place)
#define WITHIN_MAX SIZEOF_FIELD(struct zms_ate, data)
/* Version 1, the magic number of ZMS, entries with numbers of 32 bits. */
#define METADATA (FIELD_PREP(GENMASK(7, 0), 1) | FIELD_PREP(GENMASK(15, 8), 0x42))
#define OPEN_LEN 0xFFFF

struct zms_ate {
    uint8_t crc8;
    uint8_t cycle_cnt;
    uint16_t len;
    uint32_t id;
    union {
        uint8_t data[8];
        struct {
            uint32_t offset;
            uint32_t extra; /* check sum of the data, or what the header says */
        };
    };
} __packed;

BUILD_ASSERT(sizeof(struct zms_ate) == 16, "as in flash");

#endif
