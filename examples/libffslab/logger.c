/* A logger on raw SPI NOR: records of 64 bytes, one behind the other, in a ring of erase blocks. The oldest block is erased when the ring is
 * full. After a power cut the end of the log is found by reading. docs/libffslab.md of ffslab walks through it. */
#include <ffslab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_B = 64, RECORDS = 3000 };

static ffslab_chip *chip;
static struct ffslab_geometry geometry;
static uint64_t head; /* where the next record goes */

static int checked(int code) {
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", ffslab_error_name(code), ffslab_last_error(chip));
        exit(1);
    }
    return code;
}

static int is_erased(const uint8_t *bytes, size_t count) {
    while (count > 0 && bytes[count - 1] == 0xFF) count--;
    return count == 0;
}

/* Finds the first place that holds no record. */
static void find_head(void) {
    FFSLAB_BECAUSE(chip, "head scan");
    uint8_t record[RECORD_B];
    for (head = 0; head < geometry.size_B; head += RECORD_B) {
        checked(ffslab_read(chip, head, record, sizeof record));
        if (is_erased(record, sizeof record)) return;
    }
    head = 0;
}

/* Returns what the chip says. */
static int append(uint32_t number) {
    uint8_t record[RECORD_B] = {0};
    memcpy(record, &number, sizeof number);
    record[RECORD_B - 1] = 1; /* written last: a torn record does not have it */
    if (head % geometry.erase_block_B == 0) {
        FFSLAB_BECAUSE(chip, "ring erase");
        int code = ffslab_erase(chip, head);
        if (code < 0) return code;
    }
    FFSLAB_BECAUSE(chip, "record");
    int code = ffslab_program(chip, head, record, sizeof record);
    if (code >= 0) head = (head + RECORD_B) % geometry.size_B;
    return code;
}

int main(int argc, char **argv) {
    if (ffslab_abi_version() != FFSLAB_ABI_VERSION) return 1;
    chip = ffslab_open("board = \"licheepi-nano\"\n"
                       "part = \"w25q128jv\"\n"
                       "erase_block_KiB = 4\n"
                       "partition_blocks = 16\n");
    if (!chip) {
        fprintf(stderr, "%s\n", ffslab_last_error(NULL));
        return 1;
    }
    checked(ffslab_title(chip, "A ring of records on raw NOR"));
    checked(ffslab_geometry(chip, &geometry));

    checked(ffslab_step(chip, "append records, one each 10 ms"));
    for (uint32_t number = 0; number < RECORDS; number++) {
        checked(ffslab_call(chip, FFSLAB_APPEND, "log", head));
        checked(append(number));
        checked(ffslab_call_end(chip, RECORD_B));
        checked(ffslab_sleep_ns(chip, 10 * 1000 * 1000));
    }

    checked(ffslab_step(chip, "power cut in the 5th program from here, and the way back"));
    checked(ffslab_cut_power_after(chip, 5, FFSLAB_TORN_PARTIAL, 1));
    int code = FFSLAB_OK;
    for (uint32_t number = 0; code >= 0; number++) code = append(number);
    if (code != FFSLAB_EPOWER) checked(code < 0 ? code : FFSLAB_EINTERNAL);
    checked(ffslab_restart(chip));
    checked(ffslab_call(chip, FFSLAB_OTHER, "log", 0));
    find_head();
    checked(ffslab_call_end(chip, 0));

    struct ffslab_counters all, scan;
    checked(ffslab_counters(chip, &all));
    checked(ffslab_counters_of(chip, "head scan", &scan));
    printf("%llu programs, %llu erases; the scan after the power cut: %llu reads, %.1f ms\n",
           (unsigned long long)all.page_programs, (unsigned long long)all.erases, (unsigned long long)scan.page_reads,
           (double)(scan.chip_ns + scan.driver_ns) / 1e6);
    checked(ffslab_results(chip, argc > 1 ? argv[1] : "results"));
    ffslab_close(chip);
    return 0;
}
