/* Causes by call site: littlefs and a logger without labels. Prints "ok". */
#include <ffslab/littlefs.h>
#include <stdio.h>
#include <string.h>

#define CHECK(what)                                                   \
    do {                                                              \
        if (!(what)) {                                                \
            printf("line %d: %s does not hold\n", __LINE__, #what); \
            return 1;                                                 \
        }                                                             \
    } while (0)

static const char *KEYS = "board = \"licheepi-nano\"\npart = \"w25q128jv\"\nerase_block_KiB = 4\npartition_blocks = 64\n";

static uint64_t operations(const struct ffslab_counters *of) {
    return of->page_reads + of->partial_page_reads + of->page_programs + of->erases;
}

static uint64_t spent(ffslab_chip *chip, const char *cause) {
    struct ffslab_counters of;
    return ffslab_counters_of(chip, cause, &of) == FFSLAB_OK ? operations(&of) : 0;
}

static int littlefs_is_explained(void) {
    ffslab_chip *chip = ffslab_open(KEYS);
    struct lfs_config config = {.lookahead_size = 8, .block_cycles = 4};
    CHECK(chip && ffslab_lfs_config(&config, chip) == FFSLAB_OK);
    CHECK(ffslab_callers(chip, FFSLAB_LFS_CALLERS) == FFSLAB_OK);
    lfs_t lfs;
    lfs_file_t file;
    static char data[20000];
    CHECK(lfs_format(&lfs, &config) == 0 && lfs_mount(&lfs, &config) == 0);
    CHECK(lfs_mkdir(&lfs, "d") == 0);
    for (int round = 0; round < 60; round++) {
        char name[32];
        snprintf(name, sizeof name, "d/file%d", round % 7);
        size_t bytes = (size_t[]){40, 900, 6000, 20000}[round % 4];
        memset(data, round, sizeof data);
        CHECK(lfs_file_open(&lfs, &file, name, LFS_O_RDWR | LFS_O_CREAT) == 0);
        CHECK(lfs_file_write(&lfs, &file, data, bytes) == (lfs_ssize_t)bytes);
        CHECK(lfs_file_sync(&lfs, &file) == 0);
        CHECK(lfs_file_seek(&lfs, &file, 30, LFS_SEEK_SET) == 30);
        CHECK(lfs_file_read(&lfs, &file, data, 10) == 10);
        CHECK(lfs_file_close(&lfs, &file) == 0);
    }
    CHECK(lfs_unmount(&lfs) == 0);

    struct ffslab_counters all;
    CHECK(ffslab_counters(chip, &all) == FFSLAB_OK);
    static const char *CAUSES[] = {
        "formatting", "mount scan", "name look-up", "file open",       "read",            "block list walk", "user data",
        "new file block", "commit", "compaction",   "allocation scan", "relocation",
    };
    uint64_t explained = 0;
    for (size_t i = 0; i < sizeof CAUSES / sizeof *CAUSES; i++) {
        uint64_t of = spent(chip, CAUSES[i]);
        fprintf(stderr, "%-16s %8llu\n", CAUSES[i], (unsigned long long)of);
        explained += of;
    }
    fprintf(stderr, "%llu of %llu\n", (unsigned long long)explained, (unsigned long long)operations(&all));
    CHECK(explained * 100 >= operations(&all) * 95);
    CHECK(spent(chip, "commit") && spent(chip, "compaction") && spent(chip, "allocation scan"));
    CHECK(spent(chip, "read") && spent(chip, "relocation") && spent(chip, "user data"));
    ffslab_close(chip);
    return 0;
}

/* As a compiler leaves them that does not inline. */
#define OWN static __attribute__((noinline))

OWN int write_record(ffslab_chip *chip, uint64_t at) { return ffslab_program(chip, at, "record", 6); }
OWN int open_block(ffslab_chip *chip, uint64_t at) { return ffslab_erase(chip, at); }
OWN int append(ffslab_chip *chip, uint64_t at) {
    int code = at % 4096 == 0 ? open_block(chip, at) : 0;
    return code < 0 ? code : write_record(chip, at);
}

static int functions_name_what_has_no_rule(void) {
    ffslab_chip *chip = ffslab_open(KEYS);
    CHECK(chip && ffslab_callers(chip, NULL) == FFSLAB_OK);
    for (uint64_t at = 0; at < 8192; at += 64) CHECK(append(chip, at) == FFSLAB_OK);
    CHECK(spent(chip, "write_record") == 128 && spent(chip, "open_block") == 2);
    /* A label comes before it, and a line without a cause passes over a function. */
    {
        FFSLAB_BECAUSE(chip, "by hand");
        CHECK(append(chip, 8192 + 64) == FFSLAB_OK);
    }
    CHECK(spent(chip, "by hand") == 1);
    CHECK(ffslab_callers(chip, "write_record =\n") == FFSLAB_OK);
    CHECK(append(chip, 8192 + 128) == FFSLAB_OK && spent(chip, "append") == 1);
    CHECK(ffslab_callers(chip, "write_record\n") == FFSLAB_EINPUT);
    CHECK(strstr(ffslab_last_error(chip), "callers, line 1") != NULL);
    CHECK(spent(chip, "other") == 0);
    ffslab_close(chip);
    return 0;
}

int main(void) {
    if (littlefs_is_explained() || functions_name_what_has_no_rule()) return 1;
    puts("ok");
    return 0;
}
