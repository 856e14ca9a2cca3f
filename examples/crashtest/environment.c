/* A bootloader's environment on raw SPI NOR, which says what is booted, for `ffslab crashtest environment.toml`: in one copy, which is erased
 * before it is written, or in two, of which the other one is written and the one with the higher serial number counts.
 *
 *   environment one|two factory   the first environment is saved
 *   environment one|two update    it is changed and saved, twice; what is told afterwards must be there from then on
 *   environment one|two check     an environment must be there, none that is older than what was told, and it can be saved anew
 *
 * A number behind them is a mistake, of those in `enum mistake`. */
#include <ffslab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR_B = 4096, PAGE_B = 256, TOLD = 2 };
enum { SETTINGS_B = 2 * PAGE_B - 16, CHANGES = 3 };
#define MAGIC 0x600DC0DEu

enum mistake {
    RIGHT,
    IN_PLACE = 1,         /* the copy that counts is written */
    UNCHECKED = 2,        /* its check sum is not looked at */
    BOTH_ERASED = 3,      /* both copies are erased, and then written */
    TOLD_EARLY = 4,       /* it is told before it is saved */
    REPAIRED_BY_FIRST = 5,/* where one copy is bad the first one is written over the second one */
    SERIAL_OF_TARGET = 6, /* the next serial number is that of the copy to be written, and two more */
};

struct environment {
    uint32_t magic, serial, boots, sum;
    uint8_t settings[SETTINGS_B];
};

static ffslab_chip *chip;
static int copies;
static enum mistake mistake;

static void fails(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void checked(int code) {
    if (code < 0) fails(ffslab_last_error(chip));
}

static uint32_t sum_of(const struct environment *held) {
    uint32_t sum = 2166136261u ^ held->serial ^ (held->boots << 8);
    for (size_t i = 0; i < sizeof held->settings; i++) sum = (sum ^ held->settings[i]) * 16777619u;
    return sum;
}

static int is_good(const struct environment *held) {
    return held->magic == MAGIC && (mistake == UNCHECKED || held->sum == sum_of(held));
}

static void read_copy(int copy, struct environment *into) {
    checked(ffslab_read(chip, (uint64_t)copy * SECTOR_B, into, sizeof *into));
}

static void erase_copy(int copy) {
    checked(ffslab_erase(chip, (uint64_t)copy * SECTOR_B));
}

static void write_copy(int copy, const struct environment *from) {
    for (size_t page = 0; page < sizeof *from; page += PAGE_B) {
        checked(ffslab_program(chip, (uint64_t)copy * SECTOR_B + page, (const uint8_t *)from + page, PAGE_B));
    }
}

/* The copy that counts; -1: there is none. */
static int newest(struct environment *into) {
    int best = -1;
    struct environment held[2] = {{0}};
    for (int copy = 0; copy < copies; copy++) {
        read_copy(copy, &held[copy]);
        if (is_good(&held[copy]) && (best < 0 || held[copy].serial > held[best].serial)) best = copy;
    }
    if (mistake == REPAIRED_BY_FIRST && is_good(&held[0]) != is_good(&held[1])) {
        erase_copy(1);
        write_copy(1, &held[0]);
        read_copy(1, &held[1]);
        best = is_good(&held[0]) ? 0 : -1;
    }
    if (best >= 0) *into = held[best];
    return best;
}

static void save(uint32_t boots) {
    struct environment held = {0};
    int from = newest(&held), to = copies == 1 ? 0 : (from == 0) != (mistake == IN_PLACE);
    if (mistake == SERIAL_OF_TARGET && from >= 0) {
        struct environment there;
        read_copy(to, &there);
        held.serial = there.serial + 1;
    }
    held.magic = MAGIC;
    held.serial++;
    held.boots = boots;
    for (size_t i = 0; i < sizeof held.settings; i++) held.settings[i] = (uint8_t)(i * 7 + boots * 31);
    held.sum = sum_of(&held);
    if (mistake == BOTH_ERASED) erase_copy(!to);
    erase_copy(to);
    write_copy(to, &held);
    if (mistake == BOTH_ERASED) write_copy(!to, &held);
}

/* What was told is written down, as a server that a device reports to does. */
static void tell(uint32_t boots) {
    checked(ffslab_program(chip, (uint64_t)TOLD * SECTOR_B + 4 * boots, &boots, sizeof boots));
}

static uint32_t told(void) {
    uint32_t last = 0;
    for (uint32_t boots = 1; boots <= CHANGES; boots++) {
        uint32_t found;
        checked(ffslab_read(chip, (uint64_t)TOLD * SECTOR_B + 4 * boots, &found, sizeof found));
        if (found == boots) last = boots;
    }
    return last;
}

static void change(uint32_t boots) {
    if (mistake == TOLD_EARLY) tell(boots);
    save(boots);
    if (mistake != TOLD_EARLY) tell(boots);
}

static uint32_t look(void) {
    struct environment held;
    if (newest(&held) < 0) fails("there is no environment: the bootloader takes its defaults");
    if (held.sum != sum_of(&held)) fails("what is taken for an environment is none");
    if (held.boots < told()) fails("the environment is older than what was told");
    return held.boots;
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[2] : "";
    copies = argc > 1 && strcmp(argv[1], "two") == 0 ? 2 : 1;
    mistake = argc > 3 ? (enum mistake)atoi(argv[3]) : RIGHT;
    chip = ffslab_open("board = \"licheepi-nano\"\n"
                       "part = \"w25q128jv\"\n"
                       "erase_block_KiB = 4\n"
                       "partition_blocks = 3\n");
    if (!chip) fails(ffslab_last_error(NULL));
    if (strcmp(what, "factory") == 0) {
        change(1);
    } else if (strcmp(what, "update") == 0) {
        for (uint32_t boots = 2; boots <= CHANGES; boots++) change(boots);
    } else if (strcmp(what, "check") == 0) {
        look();
        save(CHANGES);
        if (look() != CHANGES) fails("what was saved is not what is there");
    } else {
        fails("environment one|two factory|update|check [MISTAKE]");
    }
    ffslab_close(chip);
    return 0;
}
