/* Steps that are about the system as a whole: mounts, UBI, read-ahead, caches, time. */
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <mtd/ubi-user.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#ifndef MS_LAZYTIME
#define MS_LAZYTIME (1 << 25) /* in <linux/mount.h>, which does not go with <sys/mount.h> */
#endif
#include <time.h>
#include <unistd.h>

static char fs[16] = "jffs2";
/* Number of the partition's device. */
static int mtd;

static void write_file(const char *path, const char *value)
{
    int fd = open(path, O_WRONLY);
    if (fd >= 0) {
        if (write(fd, value, strlen(value)) < 0)
            fail("%s: %s", path, strerror(errno));
        close(fd);
    }
}

static void set_read_ahead(const char *KiB)
{
    write_file("/sys/class/bdi/mtd-0/read_ahead_kb", KiB);
    write_file("/sys/class/bdi/ubifs_0_0/read_ahead_kb", KiB);
}

/* Options of mount(8) that are flags of mount(2), for every file system. */
static const struct { const char *word; unsigned long set, clear; } MOUNT_FLAGS[] = {
    {"ro", MS_RDONLY, 0}, {"rw", 0, MS_RDONLY}, {"remount", MS_REMOUNT, 0},
    {"sync", MS_SYNCHRONOUS, 0}, {"async", 0, MS_SYNCHRONOUS}, {"dirsync", MS_DIRSYNC, 0},
    {"lazytime", MS_LAZYTIME, 0}, {"nolazytime", 0, MS_LAZYTIME},
    {"noatime", MS_NOATIME, 0}, {"atime", 0, MS_NOATIME}, {"nodiratime", MS_NODIRATIME, 0},
    {"relatime", MS_RELATIME, 0}, {"norelatime", 0, MS_RELATIME},
    {"strictatime", MS_STRICTATIME, 0}, {"nostrictatime", 0, MS_STRICTATIME},
    {NULL, 0, 0},
};

static void step_mount(void)
{
    char options[256], words[256];
    unsigned long flags = 0;
    int ubifs = strcmp(fs, "ubifs") == 0;
    snprintf(words, sizeof words, "%s", text("options", ""));
    snprintf(options, sizeof options, "%s", text("fs_options", ""));
    for (char *word = strtok(words, ","); word; word = strtok(NULL, ",")) {
        int known = 0;
        while (MOUNT_FLAGS[known].word && strcmp(word, MOUNT_FLAGS[known].word) != 0)
            known++;
        if (MOUNT_FLAGS[known].word)
            flags = (flags & ~MOUNT_FLAGS[known].clear) | MOUNT_FLAGS[known].set;
        else
            snprintf(options + strlen(options), sizeof options - strlen(options), ",%s", word);
    }
    char device[16];
    snprintf(device, sizeof device, ubifs ? "ubi0_0" : "mtd%d", mtd);
    if (mount(device, ROOT, fs, flags, options[0] == ',' ? options + 1 : options) < 0)
        fail("mount: %s", strerror(errno));
    mounted = 1;
    set_read_ahead(text("read_ahead_KiB", "0"));
}

/* Device nodes of UBI appear when devtmpfs makes them, before the call that made the device returns. */
static int control(const char *path)
{
    int fd = open(path, O_RDWR);
    if (fd < 0)
        fail("%s: %s", path, strerror(errno));
    return fd;
}

static void step_ubi_attach(void)
{
    struct ubi_attach_req request = {.ubi_num = 0, .mtd_num = mtd};
    request.vid_hdr_offset = (int32_t)number("vid_hdr_offset_B", "0");
    request.max_beb_per1024 = (int16_t)number("max_beb_per1024", "20");
    int fd = control("/dev/ubi_ctrl");
    if (ioctl(fd, UBI_IOCATT, &request) < 0)
        fail("attach: %s", strerror(errno));
    close(fd);
}

const char *mtd_device(void)
{
    static char path[32];
    snprintf(path, sizeof path, "/dev/mtd%d", mtd);
    return path;
}

static void step_ubi_detach(void)
{
    int32_t number = 0;
    int fd = control("/dev/ubi_ctrl");
    if (ioctl(fd, UBI_IOCDET, &number) < 0)
        fail("detach: %s", strerror(errno));
    close(fd);
}

void detach_ubi(void)
{
    if (access("/dev/ubi0", F_OK) == 0)
        step_ubi_detach();
}

static long long ubi_number(const char *name)
{
    char path[PATH_BYTES];
    long long value = -1;
    snprintf(path, sizeof path, "/sys/class/ubi/ubi0/%s", name);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%lld", &value) != 1)
        fail("%s cannot be read", path);
    fclose(file);
    return value;
}

static void step_ubi_make_volume(void)
{
    struct ubi_mkvol_req request = {.vol_id = 0, .alignment = 1, .vol_type = UBI_DYNAMIC_VOLUME, .name_len = 1, .name = "v"};
    request.bytes = ubi_number("avail_eraseblocks") * ubi_number("eraseblock_size");
    int fd = control("/dev/ubi0");
    if (ioctl(fd, UBI_IOCMKVOL, &request) < 0)
        fail("volume: %s", strerror(errno));
    close(fd);
}

static void step_umount(void)
{
    must(umount(ROOT));
    mounted = 0;
}

void drop_caches(const char *what)
{
    write_file("/proc/sys/vm/drop_caches", what);
}

static void step_drop_caches(void)
{
    drop_caches("3");
}

static void step_read_ahead(void)
{
    set_read_ahead(text("KiB", NULL));
}

static void step_sleep(void)
{
    sleep_us(number("us", NULL));
}

/* How far the tick counter (jiffies) lags behind CLOCK_MONOTONIC, by /proc/timer_list: the counter starts 300 s before 32 bits
 * overflow (include/linux/jiffies.h, INITIAL_JIFFIES), and later than the clock, when there are interrupts. The timer of
 * the tick is the first that is called so; the tick before it is the last that was counted. */
static uint64_t tick_lag_ns(uint64_t tick_ns)
{
    char line[256];
    for (int tries = 0; tries < 8; tries++) {
        unsigned long long expires_ns = 0, jiffies = 0;
        int of_tick = 0;
        FILE *file = fopen("/proc/timer_list", "r");
        while (file && fgets(line, sizeof line, file)) {
            if (of_tick && !expires_ns)
                sscanf(line, " # expires at %llu", &expires_ns);
            of_tick = strstr(line, "tick_sched_timer") || strstr(line, "tick_nohz_handler");
            sscanf(line, "jiffies: %llu", &jiffies);
        }
        if (file)
            fclose(file);
        /* Read across a tick, both do not belong together. */
        if (expires_ns && jiffies && now_ns() < expires_ns) {
            uint64_t ticks = (uint32_t)(jiffies + 300 * (1000000000 / tick_ns));
            return expires_ns - tick_ns - ticks * tick_ns;
        }
    }
    fail("/proc/timer_list does not tell the tick counter");
}

/* How far the wall clock is ahead of CLOCK_MONOTONIC within a second: the kernel sets it to half a second when it finds the clock
 * chip, whenever that is (drivers/rtc/class.c, rtc_hctosys). */
static uint64_t wall_ahead_ns(void)
{
    const uint64_t second_ns = 1000000000;
    struct timespec wall;
    if (clock_gettime(CLOCK_REALTIME, &wall))
        fail("no wall clock");
    return ((uint64_t)wall.tv_nsec + second_ns - now_ns() % second_ns) % second_ns;
}

/* The steps begin here: it must not matter how long the machine took to come here, so the time since boot, as the tick
 * counter tells it, becomes phase_us modulo period_us. */
static void step_begin(void)
{
    snprintf(fs, sizeof fs, "%s", text("fs", NULL));
    mtd = (int)number("mtd", "0");
    uint64_t period_us = number("period_us", NULL), phase_us = number("phase_us", NULL);
    uint64_t lag_ns = tick_lag_ns(1000000000 / number("hz", NULL));
    uint64_t up_us = (now_ns() - lag_ns) / 1000, at_us = (up_us / period_us + 1) * period_us + phase_us;
    result("tick_lag_ns", lag_ns);
    result("wall_ahead_ns", wall_ahead_ns());
    sleep_us(at_us - up_us);
}

const struct step SYSTEM_STEPS[] = {
    {"content", step_content},
    {"begin", step_begin},
    {"mount", step_mount},
    {"umount", step_umount},
    {"ubi_attach", step_ubi_attach},
    {"ubi_detach", step_ubi_detach},
    {"ubi_make_volume", step_ubi_make_volume},
    {"sync", sync},
    {"drop_caches", step_drop_caches},
    {"read_ahead", step_read_ahead},
    {"sleep", step_sleep},
    {NULL, NULL},
};
