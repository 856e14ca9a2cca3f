/* Steps that are about the system as a whole: mounts, UBI, read-ahead, caches, time. */
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <mtd/ubi-user.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

static char fs[16] = "jffs2";

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

static void step_mount(void)
{
    char options[256], words[256];
    unsigned long flags = 0;
    int ubifs = strcmp(fs, "ubifs") == 0;
    snprintf(words, sizeof words, "%s", text("options", ""));
    snprintf(options, sizeof options, "%s", text("fs_options", ""));
    for (char *word = strtok(words, ","); word; word = strtok(NULL, ",")) {
        if (strcmp(word, "ro") == 0)
            flags |= MS_RDONLY;
        else if (strcmp(word, "remount") == 0)
            flags |= MS_REMOUNT;
        else if (strcmp(word, "rw") != 0)
            snprintf(options + strlen(options), sizeof options - strlen(options), ",%s", word);
    }
    if (mount(ubifs ? "ubi0_0" : "mtd0", ROOT, fs, flags, options[0] == ',' ? options + 1 : options) < 0)
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
    struct ubi_attach_req request = {.ubi_num = 0, .mtd_num = 0};
    request.vid_hdr_offset = (int32_t)number("vid_hdr_offset_B", "0");
    request.max_beb_per1024 = (int16_t)number("max_beb_per1024", "20");
    int fd = control("/dev/ubi_ctrl");
    if (ioctl(fd, UBI_IOCATT, &request) < 0)
        fail("attach: %s", strerror(errno));
    close(fd);
}

static void step_ubi_detach(void)
{
    int32_t number = 0;
    int fd = control("/dev/ubi_ctrl");
    if (ioctl(fd, UBI_IOCDET, &number) < 0)
        fail("detach: %s", strerror(errno));
    close(fd);
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

static void step_drop_caches(void)
{
    write_file("/proc/sys/vm/drop_caches", "3");
}

static void step_sleep(void)
{
    sleep_us(number("us", NULL));
}

/* The steps begin here: it must not matter how long the machine took to come here, so the time since boot becomes phase_us
 * modulo period_us. */
static void step_begin(void)
{
    snprintf(fs, sizeof fs, "%s", text("fs", NULL));
    uint64_t period_us = number("period_us", NULL), phase_us = number("phase_us", NULL);
    uint64_t now_us = now_ns() / 1000, at_us = (now_us / period_us + 1) * period_us + phase_us;
    sleep_us(at_us - now_us);
}

const struct step SYSTEM_STEPS[] = {
    {"begin", step_begin},
    {"mount", step_mount},
    {"umount", step_umount},
    {"ubi_attach", step_ubi_attach},
    {"ubi_detach", step_ubi_detach},
    {"ubi_make_volume", step_ubi_make_volume},
    {"sync", sync},
    {"drop_caches", step_drop_caches},
    {"sleep", step_sleep},
    {NULL, NULL},
};
