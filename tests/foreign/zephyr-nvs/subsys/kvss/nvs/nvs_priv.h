/* Of a toy with the interface of Zephyr's NVS. */
#ifndef TOY_NVS_PRIV_H
#define TOY_NVS_PRIV_H

/* In front of the data of a record, and written after them. */
struct nvs_ate {
    uint16_t id;
    uint16_t offset;
    uint16_t len;
    uint8_t part;
    uint8_t crc8;
} __packed;

BUILD_ASSERT(sizeof(struct nvs_ate) == 8, "as in flash");

/* At the beginning of a sector, written when all is in it that it is to have. */
struct toy_head {
    uint32_t generation;
    uint32_t turned;
};

#endif
