/* Three ways in which bootloaders install an image on raw SPI NOR, for `ffslab crashtest bootloader.toml`: the new image is copied over the
 * old one (overwrite), or the two change places by way of a scratch sector (scratch) or of one free sector, by which the old one is moved up
 * first (move). Each step can be done twice, and a word of the status says that it was done.
 *
 *   bootloader WAY factory   the device leaves the factory: version 1 boots, an older update has left its status
 *   bootloader WAY update    version 2 is downloaded and asked for, installed and confirmed
 *   bootloader WAY check     boots; if it is not version 2, the update is done again; at the end it must be, with a way back
 *
 * A number behind them is a mistake, of those in `enum mistake`. To be short an image fills the first USED_B of each of its sectors. */
#include <ffslab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR_B = 4096, PAGE_B = 256, USED_B = 2 * PAGE_B, IMAGE_SECTORS = 2, IMAGE_B = IMAGE_SECTORS * USED_B };
/* Sectors: the slot that boots with one to move up to, the slot of downloads, and the rest. */
enum { PRIMARY, SECONDARY = PRIMARY + IMAGE_SECTORS + 1, SCRATCH = SECONDARY + IMAGE_SECTORS, STATUS, REQUEST, CONFIRMED };
enum { STEPS_MAX = 3 * IMAGE_SECTORS };
#define MAGIC 0x600DC0DEu
#define BLANK 0xFFFFFFFFu

enum mistake {
    RIGHT,
    REQUEST_BEFORE_IMAGE = 1,
    REQUEST_ENDS_EARLY = 2,       /* it is taken away before the last step */
    BLANK_BY_FIRST_WORD = 3,      /* a sector whose first word is blank is not erased */
    COPIED_BY_FIRST_PAGE = 4,     /* a sector whose first page is that of its source is not copied */
    STATUS_BEFORE_STEP = 5,
    STATUS_OF_SECTOR = 6,         /* only a sector's last step is kept */
    REDO_LAST_STEP = 7,           /* what goes on begins with the last step that was done */
    STATUS_ENDS_EARLY = 8,        /* it is erased when the image is confirmed, and the request only then */
    SCRATCH_ERASED_EARLY = 9,     /* at the end of the step that reads it, before its status */
    BEGUN_ANEW = 10,              /* what was cut in its first steps begins with the first one */
    SOURCE_ERASED_EARLY = 11,     /* overwrite: each sector of the download once it is copied */
    STATUS_ONCE = 12,             /* a torn word of it is not written again: needs a second cut */
};

enum way { OVERWRITE, BY_SCRATCH, BY_MOVE };

struct image {
    uint32_t magic, version, sum;
    uint8_t body[IMAGE_B - 12];
};

static ffslab_chip *chip;
static enum way way;
static enum mistake mistake;

static void fails(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void checked(int code) {
    if (code < 0) fails(ffslab_last_error(chip));
}

/* ---- sectors and words ---- */

static uint64_t at(int sector) {
    return (uint64_t)sector * SECTOR_B;
}

static uint32_t word(int sector, int place) {
    uint32_t found;
    checked(ffslab_read(chip, at(sector) + 4u * (unsigned)place, &found, sizeof found));
    return found;
}

static void put_word(int sector, int place, uint32_t value) {
    checked(ffslab_program(chip, at(sector) + 4u * (unsigned)place, &value, sizeof value));
}

static void erase(int sector) {
    if (mistake == BLANK_BY_FIRST_WORD && word(sector, 0) == BLANK) return;
    checked(ffslab_erase(chip, at(sector)));
}

static void program(int sector, const uint8_t *data) {
    for (int page = 0; page < USED_B; page += PAGE_B) checked(ffslab_program(chip, at(sector) + (unsigned)page, data + page, PAGE_B));
}

static void copy(int to, int from) {
    uint8_t data[USED_B], there[PAGE_B];
    checked(ffslab_read(chip, at(from), data, USED_B));
    checked(ffslab_read(chip, at(to), there, PAGE_B));
    if (mistake == COPIED_BY_FIRST_PAGE && memcmp(there, data, PAGE_B) == 0) return;
    erase(to);
    program(to, data);
}

/* ---- images ---- */

static uint32_t sum_of(const struct image *image) {
    uint32_t sum = image->version ^ 2166136261u;
    for (size_t i = 0; i < sizeof image->body; i++) sum = (sum ^ image->body[i]) * 16777619u;
    return sum;
}

static void write_image(int slot, uint32_t version) {
    struct image image = {MAGIC, version, 0, {0}};
    for (size_t i = 0; i < sizeof image.body; i++) image.body[i] = (uint8_t)(i * 7 + (i >> 8) + version * 31);
    image.sum = sum_of(&image);
    for (int sector = 0; sector < IMAGE_SECTORS; sector++) {
        erase(slot + sector);
        program(slot + sector, (const uint8_t *)&image + sector * USED_B);
    }
}

/* The version of a whole image; 0: there is none. */
static uint32_t version_in(int slot) {
    struct image image;
    for (int sector = 0; sector < IMAGE_SECTORS; sector++) {
        checked(ffslab_read(chip, at(slot + sector), (uint8_t *)&image + sector * USED_B, USED_B));
    }
    return image.magic == MAGIC && image.sum == sum_of(&image) ? image.version : 0;
}

/* ---- the bootloader ---- */

/* One of a way's steps, each of which can be done again from its beginning. */
static void do_step(int step) {
    int sector = step / 3;
    if (way == OVERWRITE) {
        copy(PRIMARY + step, SECONDARY + step);
        if (mistake == SOURCE_ERASED_EARLY) erase(SECONDARY + step);
    } else if (way == BY_SCRATCH) {
        if (step % 3 == 0) copy(SCRATCH, SECONDARY + sector);
        if (step % 3 == 1) copy(SECONDARY + sector, PRIMARY + sector);
        if (step % 3 == 2) copy(PRIMARY + sector, SCRATCH);
        if (step % 3 == 2 && mistake == SCRATCH_ERASED_EARLY) erase(SCRATCH);
    } else if (step < IMAGE_SECTORS) {
        copy(PRIMARY + IMAGE_SECTORS - step, PRIMARY + IMAGE_SECTORS - step - 1);
    } else {
        sector = (step - IMAGE_SECTORS) / 2;
        if ((step - IMAGE_SECTORS) % 2 == 0) copy(PRIMARY + sector, SECONDARY + sector);
        else copy(SECONDARY + sector, PRIMARY + sector + 1);
    }
}

static int ends_sector(int step) {
    return way == BY_SCRATCH ? step % 3 == 2 : step >= IMAGE_SECTORS && (step - IMAGE_SECTORS) % 2 == 1;
}

static void end_request(void) {
    erase(REQUEST);
}

static void install(void) {
    int steps = way == OVERWRITE ? IMAGE_SECTORS : STEPS_MAX, first = 0;
    while (first < steps && word(STATUS, first) == MAGIC) first++;
    if (mistake == STATUS_OF_SECTOR) {
        while (first > 0 && !ends_sector(first - 1)) first--;
    }
    if (mistake == REDO_LAST_STEP && first > 0 && first < steps) first--;
    if (mistake == BEGUN_ANEW && first < IMAGE_SECTORS) first = 0;
    for (int step = first; step < steps; step++) {
        if (mistake == REQUEST_ENDS_EARLY && step == steps - 1) end_request();
        if (mistake == STATUS_BEFORE_STEP) put_word(STATUS, step, MAGIC);
        do_step(step);
        /* A torn word is neither blank nor the magic, and can be written again: the bits that were cleared are clear in the magic, too. */
        if (mistake == STATUS_ONCE ? word(STATUS, step) == BLANK : word(STATUS, step) != MAGIC) put_word(STATUS, step, MAGIC);
    }
    if (mistake != REQUEST_ENDS_EARLY && mistake != STATUS_ENDS_EARLY) end_request();
}

/* Returns the version that boots. */
static uint32_t boot(void) {
    if (word(REQUEST, 0) == MAGIC) install();
    uint32_t version = version_in(PRIMARY);
    if (!version) fails("the image that boots is not whole");
    return version;
}

/* ---- what the running image does ---- */

static void download(void) {
    end_request();
    checked(ffslab_erase(chip, at(STATUS)));
    if (mistake == REQUEST_BEFORE_IMAGE) put_word(REQUEST, 0, MAGIC);
    write_image(SECONDARY, 2);
    if (mistake != REQUEST_BEFORE_IMAGE) put_word(REQUEST, 0, MAGIC);
}

static void confirm(void) {
    if (word(CONFIRMED, 0) != 2) put_word(CONFIRMED, 0, 2);
    if (mistake == STATUS_ENDS_EARLY) {
        erase(STATUS);
        end_request();
    }
}

static void check(void) {
    uint32_t confirmed = word(CONFIRMED, 0), booted = boot();
    if (confirmed == 2 && booted != 2) fails("version 2 was confirmed, and version 1 boots");
    if (booted != 2) {
        download();
        booted = boot();
    }
    if (booted != 2) fails("version 2 does not boot at the end");
    if (way != OVERWRITE && version_in(SECONDARY) != 1) fails("version 1 is not whole: there is no way back");
    confirm();
}

static void leave_factory(void) {
    checked(ffslab_erase(chip, at(CONFIRMED)));
    write_image(PRIMARY, 1);
    for (int step = 0; step < STEPS_MAX; step++) put_word(STATUS, step, MAGIC);
}

int main(int argc, char **argv) {
    static const char *const ways[] = {"overwrite", "scratch", "move"};
    const char *what = argc > 2 ? argv[2] : "";
    for (way = OVERWRITE; way <= BY_MOVE && argc > 1 && strcmp(argv[1], ways[way]) != 0;) way++;
    if (way > BY_MOVE || argc < 3) fails("bootloader overwrite|scratch|move factory|update|check [MISTAKE]");
    mistake = argc > 3 ? (enum mistake)atoi(argv[3]) : RIGHT;
    chip = ffslab_open("board = \"licheepi-nano\"\n"
                       "part = \"w25q128jv\"\n"
                       "erase_block_KiB = 4\n"
                       "partition_blocks = 9\n");
    if (!chip) fails(ffslab_last_error(NULL));
    if (strcmp(what, "factory") == 0) {
        leave_factory();
    } else if (strcmp(what, "update") == 0) {
        download();
        if (boot() != 2) fails("version 2 does not boot");
        confirm();
    } else {
        check();
    }
    ffslab_close(chip);
    return 0;
}
