/* Steps on the partition itself, below every file system: loops of MTD calls, and the loss of power. */
#define _GNU_SOURCE
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <mtd/mtd-user.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

/* A partition: its device, sizes, numbers of its good blocks, and what it held when the power failed. */
struct partition { int fd; uint64_t page_B, oob_B, block_B, count, *good; unsigned char *held; };
/* The one that is meant. */
static struct partition flash;

static void open_flash(const char *device)
{
    struct mtd_info_user info;
    flash.fd = open(device, O_RDWR);
    if (flash.fd < 0)
        fail("%s: %s", device, strerror(errno));
    must(ioctl(flash.fd, MEMGETINFO, &info));
    /* NOR takes single bytes: there a page is what the step says. */
    flash.page_B = info.writesize == 1 ? number("page_B", NULL) : info.writesize;
    flash.oob_B = info.oobsize, flash.block_B = info.erasesize, flash.count = 0;
    flash.good = malloc(info.size / info.erasesize * sizeof *flash.good);
    for (loff_t at = 0; at < info.size; at += info.erasesize) {
        int bad = ioctl(flash.fd, MEMGETBADBLOCK, &at);
        must(bad);
        if (!bad)
            flash.good[flash.count++] = (uint64_t)at / info.erasesize;
    }
}

static void close_flash(void)
{
    free(flash.good);
    close(flash.fd);
}

static void erase_at(uint64_t at)
{
    struct erase_info_user64 request = {.start = at, .length = flash.block_B};
    must(ioctl(flash.fd, MEMERASE64, &request));
}

/* ---- mtd_loop ------------------------------------------------------------------------------------------------------ */

static void step_mtd_loop(void)
{
    const char *op = text("op", NULL);
    int reads = strcmp(op, "read") == 0, erases = strcmp(op, "erase") == 0;
    uint64_t count = number("count", NULL), first = number("first", "0");
    open_flash(mtd_device(0));
    uint64_t unit_B = erases ? flash.block_B : flash.page_B, per_block = flash.block_B / unit_B;
    uint64_t places = flash.count * per_block, started_ns = now_ns();
    if (first >= places || (!reads && !erases && count > places - first))
        fail("%llu from %llu on: the good blocks have %llu", (unsigned long long)count, (unsigned long long)first,
             (unsigned long long)places);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t place = (first + i) % places;
        uint64_t at = flash.good[place / per_block] * flash.block_B + place % per_block * unit_B;
        const char *bytes = reads || erases ? NULL : piece(unit_B);
        uint64_t from_ns = now_ns();
        if (erases)
            erase_at(at);
        else if ((reads ? pread(flash.fd, scratch, unit_B, (off_t)at) : pwrite(flash.fd, bytes, unit_B, (off_t)at)) !=
                 (ssize_t)unit_B)
            fail("%s at %llu: %s", op, (unsigned long long)at, strerror(errno));
        call_took(from_ns);
    }
    result("elapsed_ns", now_ns() - started_ns);
    close_flash();
}

/* ---- crash --------------------------------------------------------------------------------------------------------- */

/* With the power goes what is in memory, and nandsim's chip must not. So what all partitions hold is read at once, page by page
 * with its out-of-band area, while nobody else gets the CPU; then the file systems are unmounted, which may write what they
 * like; and each partition gets back what it held. */

static void write_to(const char *path, const char *value)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail("%s: %s", path, strerror(errno));
    close(fd);
}

/* Whether nobody else runs until this process sleeps. */
static void alone(int is_alone)
{
    struct sched_param of_policy = {.sched_priority = is_alone ? 50 : 0};
    must(sched_setscheduler(0, is_alone ? SCHED_FIFO : SCHED_OTHER, &of_policy));
}

static uint64_t page_at(uint64_t i)
{
    uint64_t per_block = flash.block_B / flash.page_B;
    return flash.good[i / per_block] * flash.block_B + i % per_block * flash.page_B;
}

static uint64_t pages(void)
{
    return flash.count * (flash.block_B / flash.page_B);
}

/* Of each page its data and its out-of-band area, without ECC. */
static void hold(void)
{
    uint64_t each_B = flash.page_B + flash.oob_B;
    for (uint64_t i = 0; i < pages(); i++) {
        unsigned char *page = flash.held + i * each_B;
        struct mtd_oob_buf64 oob = {.start = page_at(i), .length = (uint32_t)flash.oob_B};
        oob.usr_ptr = (uint64_t)(uintptr_t)(page + flash.page_B);
        if (pread(flash.fd, page, flash.page_B, (off_t)page_at(i)) != (ssize_t)flash.page_B)
            fail("page %llu: %s", (unsigned long long)i, strerror(errno));
        if (flash.oob_B)
            must(ioctl(flash.fd, MEMREADOOB64, &oob));
    }
}

/* Opens it as `hold` and `put_back` want it, with room for what it holds. */
static void open_to_hold(const char *device)
{
    open_flash(device);
    if (flash.oob_B)
        must(ioctl(flash.fd, MTDFILEMODE, MTD_FILE_MODE_RAW));
    uint64_t bytes = pages() * (flash.page_B + flash.oob_B);
    flash.held = malloc(bytes);
    if (!flash.held)
        fail("no memory for what the chip holds");
    /* No page of it is to be found while the chip is read. */
    memset(flash.held, 0, bytes);
}

static void put_back(void)
{
    uint64_t each_B = flash.page_B + flash.oob_B;
    for (uint64_t i = 0; i < flash.count; i++)
        erase_at(flash.good[i] * flash.block_B);
    for (uint64_t i = 0; i < pages(); i++) {
        const unsigned char *page = flash.held + i * each_B;
        if (page[0] == 0xFF && memcmp(page, page + 1, each_B - 1) == 0)
            continue;
        if (!flash.oob_B) {
            if (pwrite(flash.fd, page, flash.page_B, (off_t)page_at(i)) != (ssize_t)flash.page_B)
                fail("page %llu: %s", (unsigned long long)i, strerror(errno));
            continue;
        }
        struct mtd_write_req request = {.start = page_at(i), .len = flash.page_B, .ooblen = flash.oob_B};
        request.usr_data = (uint64_t)(uintptr_t)page;
        request.usr_oob = (uint64_t)(uintptr_t)(page + flash.page_B);
        request.mode = MTD_OPS_RAW;
        must(ioctl(flash.fd, MEMWRITE, &request));
    }
}

static void step_crash(void)
{
    uint64_t from_ns = now_ns(), period_us = number("period_us", NULL);
    struct partition all[PLACES_MAX];
    int count = 0;
    /* Otherwise others get a twentieth of each second. */
    write_to("/proc/sys/kernel/sched_rt_runtime_us", "-1");
    mark("pause");
    for (const char *device; count < PLACES_MAX && (device = mtd_device(count)); all[count++] = flash)
        open_to_hold(device);
    alone(1);
    for (int i = 0; i < count; i++) {
        flash = all[i];
        hold();
    }
    alone(0);
    close_all();
    if (mounted)
        umount_all();
    detach_ubi();
    drop_caches("3");
    for (int i = 0; i < count; i++) {
        flash = all[i];
        put_back();
        free(flash.held);
        close_flash();
    }
    /* The tick counter goes on where it was, modulo what anything is drawn by. */
    uint64_t took_us = (now_ns() - from_ns) / 1000;
    sleep_us(period_us - took_us % period_us);
    mark("resume");
}

const struct step RAW_STEPS[] = {
    {"mtd_loop", step_mtd_loop},
    {"crash", step_crash},
    {NULL, NULL},
};
