/* A toy updater with two image slots on raw SPI NOR, for `ffslab crashtest updater.toml`. Each slot is an image and, in an erase block of its
 * own, a trailer that says that the image is whole. Of the images with a trailer the one with the highest version boots.
 *
 *   updater factory   the device leaves the factory: version 1 boots, version 0 is in the other slot
 *   updater update    version 2 goes to the slot that does not boot
 *   updater check     boots; then the update is done again if it was not done, and must boot
 *
 * -DMISTAKE=1: the trailer is written before the image; 2: it is not erased before the image but
 * after it; 3: its magic is written before its length. */
#include <ffslab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

enum { BLOCK_B = 4096, IMAGE_BLOCKS = 1, SLOT_B = (IMAGE_BLOCKS + 1) * BLOCK_B, PAGE_B = 256, IMAGE_B = 2000 };
#define MAGIC 0x600DC0DEu

struct trailer {
    uint32_t length, sum;
    uint32_t magic; /* written last: a torn trailer does not have it */
};

static ffslab_chip *chip;

static void fails(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void checked(int code) {
    if (code < 0) fails(ffslab_last_error(chip));
}

static uint64_t trailer_at(int slot) {
    return (uint64_t)slot * SLOT_B + IMAGE_BLOCKS * BLOCK_B;
}

static uint32_t sum_of(const uint8_t *bytes, uint32_t count) {
    uint32_t sum = 2166136261u;
    for (uint32_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static void fill_image(uint8_t *image, uint32_t version) {
    for (uint32_t i = 0; i < IMAGE_B; i++) image[i] = (uint8_t)(i * 7 + (i >> 8) + version * 31);
    memcpy(image, &version, sizeof version);
}

static void erase_trailer(int slot) {
    checked(ffslab_erase(chip, trailer_at(slot)));
}

static void erase_image(int slot) {
    for (int block = 0; block < IMAGE_BLOCKS; block++) {
        checked(ffslab_erase(chip, (uint64_t)slot * SLOT_B + (uint64_t)block * BLOCK_B));
    }
}

static void write_image(int slot, const uint8_t *image) {
    for (uint32_t at = 0; at < IMAGE_B; at += PAGE_B) {
        uint32_t count = IMAGE_B - at < PAGE_B ? IMAGE_B - at : PAGE_B;
        checked(ffslab_program(chip, (uint64_t)slot * SLOT_B + at, image + at, count));
    }
}

static void write_trailer(int slot, const struct trailer *trailer) {
    uint64_t at = trailer_at(slot), magic_at = at + offsetof(struct trailer, magic);
    if (MISTAKE == 3) checked(ffslab_program(chip, magic_at, &trailer->magic, sizeof trailer->magic));
    checked(ffslab_program(chip, at, trailer, offsetof(struct trailer, magic)));
    if (MISTAKE != 3) checked(ffslab_program(chip, magic_at, &trailer->magic, sizeof trailer->magic));
}

static void install(int slot, uint32_t version) {
    uint8_t image[IMAGE_B];
    fill_image(image, version);
    struct trailer trailer = {IMAGE_B, sum_of(image, IMAGE_B), MAGIC};
    if (MISTAKE != 2) erase_trailer(slot);
    erase_image(slot);
    if (MISTAKE == 1) write_trailer(slot, &trailer);
    write_image(slot, image);
    if (MISTAKE == 2) erase_trailer(slot);
    if (MISTAKE != 1) write_trailer(slot, &trailer);
}

/* The slot that boots, and the version in it. */
static int chosen(uint32_t *version, struct trailer *trailer) {
    int best = -1;
    for (int slot = 0; slot < 2; slot++) {
        struct trailer found;
        uint32_t has;
        checked(ffslab_read(chip, trailer_at(slot), &found, sizeof found));
        checked(ffslab_read(chip, (uint64_t)slot * SLOT_B, &has, sizeof has));
        if (found.magic != MAGIC || (best >= 0 && has < *version)) continue;
        best = slot;
        *version = has;
        *trailer = found;
    }
    if (best < 0) fails("no slot has a trailer: nothing boots");
    return best;
}

/* Returns the version that boots. */
static uint32_t boot(void) {
    static uint8_t image[IMAGE_B];
    struct trailer trailer;
    uint32_t version;
    int slot = chosen(&version, &trailer);
    if (trailer.length > IMAGE_B) fails("the trailer says a length that no image has");
    checked(ffslab_read(chip, (uint64_t)slot * SLOT_B, image, trailer.length));
    if (sum_of(image, trailer.length) != trailer.sum) fails("the image that boots is not whole");
    return version;
}

static void update(void) {
    struct trailer trailer;
    uint32_t version;
    install(1 - chosen(&version, &trailer), 2);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    chip = ffslab_open("board = \"licheepi-nano\"\n"
                       "part = \"w25q128jv\"\n"
                       "erase_block_KiB = 4\n"
                       "partition_blocks = 4\n");
    if (!chip) fails(ffslab_last_error(NULL));
    if (strcmp(what, "factory") == 0) {
        install(0, 1);
        install(1, 0);
    } else if (strcmp(what, "update") == 0) {
        update();
    } else if (strcmp(what, "check") == 0) {
        if (boot() != 2) update();
        if (boot() != 2) fails("version 2 does not boot at the end");
    } else {
        fails("updater factory|update|check");
    }
    ffslab_close(chip);
    return 0;
}
