/* What a call of libffslab takes, in time of the CPU: operations a second through the C interface, and nanoseconds of a call that does nothing. */
#include <ffslab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static ffslab_chip *opened(const char *keys) {
    ffslab_chip *chip = ffslab_open(keys);
    if (!chip) {
        fprintf(stderr, "%s\n", ffslab_last_error(NULL));
        exit(1);
    }
    return chip;
}

static void told(const char *what, double count, double start_s) {
    double took_s = now_s() - start_s;
    printf("%-52s %8.2f M/s  %7.1f ns\n", what, count / took_s / 1e6, took_s / count * 1e9);
}

/* Fills and erases blocks, and reads them, `rounds` times. */
static void rounds(const char *name, const char *keys, int rounds, int is_measured) {
    ffslab_chip *chip = opened(keys);
    struct ffslab_geometry of;
    ffslab_geometry(chip, &of);
    uint32_t unit = of.program_B > 1 ? of.program_B : 256;
    uint8_t *page = malloc(unit);
    memset(page, 0x5A, unit);
    if (is_measured) ffslab_step(chip, "all");
    double start_s = now_s(), count = 0;
    for (int round = 0; round < rounds; round++) {
        for (uint64_t at = 0; at < of.size_B; at += unit) {
            if (at % of.erase_block_B == 0) count += ffslab_erase(chip, at) == FFSLAB_OK;
            count += ffslab_program(chip, at, page, unit) == FFSLAB_OK;
            count += ffslab_read(chip, at, page, unit) == FFSLAB_OK;
        }
    }
    told(name, count, start_s);
    free(page);
    ffslab_close(chip);
}

int main(void) {
    const char *nor = "board = \"licheepi-nano\"\npart = \"w25q128jv\"\nerase_block_KiB = 4\npartition_blocks = 256\n";
    const char *nand = "board = \"omap3evm\"\npartition_blocks = 64\n";
    rounds("NOR: programs and reads of 256 B, erases, setup", nor, 100, 0);
    rounds("the same, each operation a row of the results", nor, 100, 1);
    rounds("NAND: programs and reads of 2 KiB, erases, setup", nand, 100, 0);
    rounds("the same, each operation a row of the results", nand, 100, 1);
    ffslab_chip *chip = opened(nor);
    enum { CALLS = 20000000 };
    uint8_t byte[1];
    double start_s = now_s();
    for (int i = 0; i < CALLS; i++) ffslab_is_bad(chip, 0);
    told("a call that does nothing (ffslab_is_bad)", CALLS, start_s);
    start_s = now_s();
    for (int i = 0; i < CALLS / 10; i++) ffslab_read(chip, 0, byte, 1);
    told("a read of one byte of NOR", CALLS / 10, start_s);
    start_s = now_s();
    for (int i = 0; i < CALLS / 10; i++) {
        ffslab_because(chip, "a label");
        ffslab_because_end(chip);
    }
    told("a label, begun and ended", CALLS / 10, start_s);
    start_s = now_s();
    ffslab_callers(chip, NULL);
    for (int i = 0; i < CALLS / 10; i++) ffslab_read(chip, 0, byte, 1);
    told("a read of one byte of NOR, its cause by call site", CALLS / 10, start_s);
    ffslab_close(chip);
    return 0;
}
