/* Zephyr's flash API on a chip: reads, writes, erases, what a driver refuses, a power cut. Prints "ok". */
#define CONFIG_FLASH_PAGE_LAYOUT 1
#include <ffslab/zephyr_flash.h>
#include <stdio.h>
#include <string.h>

#define CHECK(what)                                                   \
    do {                                                              \
        if (!(what)) {                                                \
            printf("line %d: %s does not hold\n", __LINE__, #what); \
            return 1;                                                 \
        }                                                             \
    } while (0)

static int on_nor(void) {
    ffslab_chip *chip = ffslab_open("board = \"licheepi-nano\"\npart = \"w25q128jv\"\nerase_block_KiB = 4\npartition_blocks = 8\n");
    CHECK(chip);
    const struct device *flash = ffslab_zephyr_flash(chip);
    CHECK(device_is_ready(flash));
    CHECK(flash_get_parameters(flash)->write_block_size == 4 && flash_get_parameters(flash)->erase_value == 0xFF);
    const struct flash_pages_layout *layout;
    size_t layouts;
    stub_api(flash)->page_layout(flash, &layout, &layouts);
    CHECK(layouts == 1 && layout->pages_count == 8 && layout->pages_size == 4096);

    uint8_t back[12];
    CHECK(flash_write(flash, 4096, "abcdefgh", 8) == 0);
    CHECK(flash_read(flash, 4094, back, 12) == 0 && !memcmp(back, "\xFF\xFF" "abcdefgh\xFF\xFF", 12));
    CHECK(flash_read(flash, 0, NULL, 0) == 0);
    CHECK(flash_write(flash, 4098, "ab", 2) == -EINVAL);
    CHECK(flash_read(flash, 8 * 4096 - 4, back, 8) == -EINVAL && flash_read(flash, -4, back, 4) == -EINVAL);
    CHECK(flash_erase(flash, 4096, 100) == -EINVAL && flash_erase(flash, 100, 4096) == -EINVAL);
    CHECK(flash_erase(flash, 4096, 2 * 4096) == 0);
    CHECK(flash_read(flash, 4096, back, 4) == 0 && !memcmp(back, "\xFF\xFF\xFF\xFF", 4));
    struct ffslab_counters counters;
    CHECK(ffslab_counters(chip, &counters) == FFSLAB_OK && counters.erases == 2);

    CHECK(ffslab_cut_power_after(chip, 1, FFSLAB_TORN_NOTHING, 1) == FFSLAB_OK);
    CHECK(flash_write(flash, 0, "lost", 4) == -EIO && !ffslab_is_powered(chip));
    CHECK(ffslab_restart(chip) == FFSLAB_OK && flash_write(flash, 0, "here", 4) == 0);
    ffslab_close(chip);
    return 0;
}

static int on_nand(void) {
    ffslab_chip *chip = ffslab_open("board = \"omap3evm\"\npartition_blocks = 8\n");
    CHECK(chip);
    const struct device *flash = ffslab_zephyr_flash(chip);
    CHECK(device_is_ready(flash) && flash_get_parameters(flash)->write_block_size == 2048);
    static uint8_t page[2048], back[2048];
    memset(page, 0x5A, sizeof page);
    CHECK(flash_write(flash, 0, page, sizeof page) == 0);
    CHECK(flash_write(flash, 2048, page, 512) == -EINVAL);
    CHECK(flash_read(flash, 0, back, sizeof back) == 0 && !memcmp(page, back, sizeof page));
    ffslab_close(chip);
    return 0;
}

int main(void) {
    if (on_nor() || on_nand()) return 1;
    puts("ok");
    return 0;
}
