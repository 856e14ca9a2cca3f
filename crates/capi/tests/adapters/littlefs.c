/* littlefs on a chip: files, a remount, a power cut, causes. Prints "ok". */
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

int main(void) {
    ffslab_chip *chip = ffslab_open("board = \"licheepi-nano\"\npart = \"w25q128jv\"\nerase_block_KiB = 4\npartition_blocks = 64\n");
    CHECK(chip);
    struct lfs_config config = {.lookahead_size = 8};
    CHECK(ffslab_lfs_config(&config, chip) == FFSLAB_OK);
    CHECK(config.block_size == 4096 && config.block_count == 64 && config.lookahead_size == 8);
    lfs_t lfs;
    lfs_file_t file;
    char back[6] = "";
    CHECK(lfs_format(&lfs, &config) == 0);
    CHECK(lfs_mount(&lfs, &config) == 0);
    CHECK(ffslab_step(chip, "write") == FFSLAB_OK);
    CHECK(lfs_file_open(&lfs, &file, "name", LFS_O_RDWR | LFS_O_CREAT) == 0);
    CHECK(lfs_file_write(&lfs, &file, "hello", 6) == 6);
    CHECK(lfs_file_close(&lfs, &file) == 0);

    /* The next program does not come to its end. */
    CHECK(ffslab_cut_power_after(chip, 1, FFSLAB_TORN_PARTIAL, 3) == FFSLAB_OK);
    CHECK(lfs_file_open(&lfs, &file, "lost", LFS_O_WRONLY | LFS_O_CREAT) == LFS_ERR_IO);
    CHECK(ffslab_restart(chip) == FFSLAB_OK);
    {
        FFSLAB_BECAUSE(chip, "mount scan");
        CHECK(lfs_mount(&lfs, &config) == 0);
    }
    struct ffslab_counters mount;
    CHECK(ffslab_counters_of(chip, "mount scan", &mount) == FFSLAB_OK && mount.page_reads > 0);
    struct lfs_info info;
    CHECK(lfs_stat(&lfs, "lost", &info) == LFS_ERR_NOENT);
    CHECK(lfs_file_open(&lfs, &file, "name", LFS_O_RDONLY) == 0);
    CHECK(lfs_file_read(&lfs, &file, back, 6) == 6 && !strcmp(back, "hello"));
    CHECK(lfs_file_close(&lfs, &file) == 0 && lfs_unmount(&lfs) == 0);
    ffslab_close(chip);
    puts("ok");
    return 0;
}
