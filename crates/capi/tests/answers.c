/* What the functions of ffslab.h answer, right and wrong uses. Prints "ok". */
#include <ffslab.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(what, wanted)                                                                                           \
    do {                                                                                                           \
        long long is_ = (long long)(what), wanted_ = (long long)(wanted);                                          \
        if (is_ != wanted_) {                                                                                      \
            printf("line %d: %s is %lld, not %lld: %s\n", __LINE__, #what, is_, wanted_, ffslab_last_error(chip)); \
            exit(1);                                                                                               \
        }                                                                                                          \
    } while (0)

#define SAYS(text, part)                                                         \
    do {                                                                         \
        if (!strstr((text), (part))) {                                           \
            printf("line %d: \"%s\" lacks \"%s\"\n", __LINE__, (text), (part)); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

static ffslab_chip *chip;

static void *from_another_thread(void *into) {
    return ffslab_read(chip, 0, into, 64) == FFSLAB_OK ? into : NULL;
}

static void wrong_chips(void) {
    IS(ffslab_open("board = \"no-such-board\"\n") != NULL, 0);
    SAYS(ffslab_last_error(NULL), "no-such-board");
    IS(ffslab_open("fs = \"ubifs\"\n") != NULL, 0);
    SAYS(ffslab_last_error(NULL), "leave it out");
    IS(ffslab_open("part = \n") != NULL, 0);
    IS(ffslab_open(NULL) != NULL, 0);
    SAYS(ffslab_last_error(NULL), "NULL");
    IS(ffslab_erase(NULL, 0), FFSLAB_EINPUT);
    ffslab_close(NULL);
    SAYS(ffslab_error_name(FFSLAB_EPOWER), "FFSLAB_EPOWER");
    SAYS(ffslab_error_name(7), "unknown");
    IS(ffslab_callers(NULL, NULL), FFSLAB_EINPUT);
}

static void nand(const char *folder) {
    chip = ffslab_open("[stack]\nboard = \"omap3evm\"\npartition_blocks = 8\n");
    if (!chip) {
        printf("%s\n", ffslab_last_error(NULL));
        exit(1);
    }
    struct ffslab_geometry of;
    IS(ffslab_geometry(chip, &of), FFSLAB_OK);
    IS(of.blocks, 8);
    IS(of.size_B, 8ull * of.erase_block_B);
    IS(of.program_B, 2048);
    IS(of.has_bad_blocks, 1);
    IS(of.clears_bits_again, 0);

    uint8_t page[2048], back[2048];
    memset(page, 0x5A, sizeof page);
    IS(ffslab_results(chip, folder), FFSLAB_EINPUT); /* nothing was measured */
    IS(ffslab_program(chip, 0, page, sizeof page), FFSLAB_OK);
    IS(ffslab_step(chip, "one"), FFSLAB_OK);
    IS(ffslab_read(chip, 0, back, sizeof back), FFSLAB_OK);
    IS(memcmp(page, back, sizeof page), 0);
    IS(ffslab_program(chip, 0, page, 100), FFSLAB_EALIGN);
    IS(ffslab_program(chip, of.size_B, page, sizeof page), FFSLAB_ERANGE);
    IS(ffslab_read(chip, of.size_B - 1, back, 2), FFSLAB_ERANGE);
    IS(ffslab_read(chip, 0, NULL, 2), FFSLAB_EINPUT);
    IS(ffslab_erase(chip, 1), FFSLAB_EALIGN);
    uint8_t oob[4] = {1, 2, 3, 4}, oob_back[4];
    IS(ffslab_program_oob(chip, 2048, page, sizeof page, oob, sizeof oob), FFSLAB_OK);
    IS(ffslab_read_oob(chip, 2048, back, sizeof back, oob_back, sizeof oob_back), FFSLAB_OK);
    IS(memcmp(oob, oob_back, sizeof oob), 0);

    /* Snapshots hold contents. */
    ffslab_snapshot *before = ffslab_snapshot_take(chip);
    IS(ffslab_erase(chip, 0), FFSLAB_OK);
    IS(ffslab_read(chip, 0, back, 1), FFSLAB_OK);
    IS(back[0], 0xFF);
    IS(ffslab_snapshot_restore(chip, before), FFSLAB_OK);
    IS(ffslab_snapshot_restore(chip, NULL), FFSLAB_EINPUT);
    ffslab_snapshot_free(before);
    IS(ffslab_read(chip, 0, back, sizeof back), FFSLAB_OK);
    IS(memcmp(page, back, sizeof page), 0);

    /* Labels nest and are counted. */
    struct ffslab_counters of_label;
    IS(ffslab_because(chip, "outer"), FFSLAB_OK);
    IS(ffslab_erase(chip, of.erase_block_B), FFSLAB_OK);
    IS(ffslab_because(chip, "inner"), FFSLAB_OK);
    IS(ffslab_erase(chip, of.erase_block_B), FFSLAB_OK);
    IS(ffslab_because_end(chip), FFSLAB_OK);
    IS(ffslab_erase(chip, of.erase_block_B), FFSLAB_OK);
    IS(ffslab_because_end(chip), FFSLAB_OK);
    IS(ffslab_because_end(chip), FFSLAB_EINPUT);
    IS(ffslab_because(chip, "two\nlines"), FFSLAB_EINPUT);
    IS(ffslab_counters_of(chip, "outer", &of_label), FFSLAB_OK);
    IS(of_label.erases, 2);
    IS(ffslab_counters_of(chip, "inner", &of_label), FFSLAB_OK);
    IS(of_label.erases, 1);
    uint32_t erases[9];
    IS(ffslab_erase_counts(chip, erases, 9), FFSLAB_OK);
    IS(erases[1], 3);
    IS(erases[8], 0);

    /* Bad blocks. */
    IS(ffslab_is_bad(chip, 0), 0);
    IS(ffslab_mark_bad(chip, 2ull * of.erase_block_B), FFSLAB_OK);
    IS(ffslab_is_bad(chip, 2ull * of.erase_block_B + 5), 1);
    IS(ffslab_erase(chip, 2ull * of.erase_block_B), FFSLAB_EBAD);

    /* Time. */
    uint64_t now_ns = ffslab_now_ns(chip);
    IS(ffslab_think_ns(chip, 1000), FFSLAB_OK);
    IS(ffslab_now_ns(chip) - now_ns, 1000);
    IS(ffslab_sleep_ns(chip, 1000000), FFSLAB_OK);
    IS(ffslab_now_ns(chip) >= now_ns + 1001000, 1);

    /* Power. */
    uint64_t operations = ffslab_operations(chip);
    IS(ffslab_cut_power_after(chip, 2, 7, 0), FFSLAB_EINPUT);
    IS(ffslab_cut_power_after(chip, 2, FFSLAB_TORN_COMPLETE, 0), FFSLAB_OK);
    IS(ffslab_erase(chip, 3ull * of.erase_block_B), FFSLAB_OK);
    IS(ffslab_erase(chip, 4ull * of.erase_block_B), FFSLAB_EPOWER);
    IS(ffslab_is_powered(chip), 0);
    IS(ffslab_sync(chip), FFSLAB_EPOWER);
    IS(ffslab_restart(chip), FFSLAB_OK);
    IS(ffslab_sync(chip), FFSLAB_OK);
    IS(ffslab_operations(chip) - operations, 2);

    /* Calls. */
    IS(ffslab_call(chip, FFSLAB_WRITE, "file", 0), FFSLAB_OK);
    IS(ffslab_call(chip, FFSLAB_WRITE, "file", 0), FFSLAB_EINPUT);
    IS(ffslab_step(chip, "two"), FFSLAB_EINPUT);
    IS(ffslab_results(chip, folder), FFSLAB_EINPUT);
    IS(ffslab_call_end(chip, 10), FFSLAB_OK);

    pthread_t thread;
    void *read_there = NULL;
    IS(pthread_create(&thread, NULL, from_another_thread, back), 0);
    IS(pthread_join(thread, &read_there), 0);
    IS(read_there == back, 1);

    char path[4096];
    snprintf(path, sizeof path, "%s/image.bin", folder);
    IS(ffslab_save_image(chip, path, 1), FFSLAB_OK);
    IS(ffslab_results(chip, folder), FFSLAB_EINPUT); /* it holds something else */
    SAYS(ffslab_last_error(chip), "not a results folder");
    snprintf(path, sizeof path, "%s/results", folder);
    IS(ffslab_results(chip, path), FFSLAB_OK);
    ffslab_close(chip);
    chip = NULL;
}

int main(int argc, char **argv) {
    if (argc != 2 || ffslab_abi_version() != FFSLAB_ABI_VERSION) return 1;
    wrong_chips();
    nand(argv[1]);
    puts("ok");
    return 0;
}
