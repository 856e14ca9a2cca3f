/* File systems: the root, and those beside it at directories of their own, on partitions or volumes of their own.
 *
 * Paths of steps say which one is meant. In the guest each has a mount point beside the root's, so that the root need not hold the
 * directory. */
#define _GNU_SOURCE
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <mtd/ubi-user.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#ifndef MS_LAZYTIME
#define MS_LAZYTIME (1 << 25) /* in <linux/mount.h>, which does not go with <sys/mount.h> */
#endif
#include <unistd.h>

enum { UBI_MAX = 9 };

/* The first one is the root. `at` has no slashes around it. A volume of the root's UBI has `volume_B`. */
static struct place {
    char at[128], root[32], fs[16], options[256], fs_options[128], read_ahead_KiB[16];
    int mtd, ubi, volume, max_beb_per1024;
    uint64_t volume_B;
} places[PLACES_MAX] = {{.root = ROOT, .fs = "jffs2"}};
static int places_n = 1;

/* ---- where they are ------------------------------------------------------------------------------------------------ */

void root_is(const char *fs, int mtd, int volume)
{
    snprintf(places[0].fs, sizeof places[0].fs, "%s", fs);
    places[0].mtd = mtd;
    places[0].volume = volume;
}

static void step_place(void)
{
    if (places_n == PLACES_MAX)
        fail("more than %d file systems", PLACES_MAX);
    struct place *place = &places[places_n];
    snprintf(place->root, sizeof place->root, "%s.%d", ROOT, places_n++);
    snprintf(place->at, sizeof place->at, "%s", text("at", NULL));
    snprintf(place->fs, sizeof place->fs, "%s", text("fs", NULL));
    snprintf(place->options, sizeof place->options, "%s", text("options", ""));
    snprintf(place->fs_options, sizeof place->fs_options, "%s", text("fs_options", ""));
    snprintf(place->read_ahead_KiB, sizeof place->read_ahead_KiB, "%s", text("read_ahead_KiB", "0"));
    place->mtd = (int)number("mtd", "0");
    place->ubi = (int)number("ubi", "0");
    place->volume = (int)number("volume", "0");
    place->volume_B = number("volume_B", "0");
    place->max_beb_per1024 = (int)number("max_beb_per1024", "20");
    mkdir(place->root, 0755);
}

/* The file system of a name, which then is one of a file there: the one with the longest directory. */
static const struct place *place_of(const char **name)
{
    const struct place *found = &places[0];
    size_t taken = 0;
    for (int i = 1; i < places_n; i++) {
        size_t length = strlen(places[i].at);
        if (length > taken && strncmp(*name, places[i].at, length) == 0 && ((*name)[length] == '/' || !(*name)[length])) {
            found = &places[i];
            taken = length;
        }
    }
    *name += taken + (taken && (*name)[taken] == '/');
    return found;
}

const char *root_of(const char *name)
{
    return place_of(&name)->root;
}

const char *path_of(const char *name)
{
    static char paths[2][PATH_BYTES];
    static int turn;
    char *path = paths[turn = !turn];
    const struct place *place = place_of(&name);
    snprintf(path, PATH_BYTES, "%s/%s", place->root, name);
    return path;
}

const char *mtd_device(int number)
{
    static char path[32];
    for (int i = 0; i < places_n; i++)
        /* Volumes are in the root's UBI. */
        if (!places[i].volume_B && number-- == 0) {
            snprintf(path, sizeof path, "/dev/mtd%d", places[i].mtd);
            return path;
        }
    return NULL;
}

/* ---- UBI ----------------------------------------------------------------------------------------------------------- */

/* Device nodes of UBI appear when devtmpfs makes them, before the call that made the device returns. */
static int control(const char *path)
{
    int fd = open(path, O_RDWR);
    if (fd < 0)
        fail("%s: %s", path, strerror(errno));
    return fd;
}

static int is_attached(int ubi)
{
    char path[32];
    snprintf(path, sizeof path, "/dev/ubi%d", ubi);
    return access(path, F_OK) == 0;
}

static void attach(int ubi, int mtd, int vid_hdr_offset_B, int max_beb_per1024)
{
    struct ubi_attach_req request = {.ubi_num = ubi, .mtd_num = mtd, .vid_hdr_offset = vid_hdr_offset_B};
    request.max_beb_per1024 = (int16_t)max_beb_per1024;
    int fd = control("/dev/ubi_ctrl");
    if (ioctl(fd, UBI_IOCATT, &request) < 0)
        fail("attach: %s", strerror(errno));
    close(fd);
}

static void step_ubi_attach(void)
{
    attach(0, places[0].mtd, (int)number("vid_hdr_offset_B", "0"), (int)number("max_beb_per1024", "20"));
}

static void detach(int32_t ubi)
{
    int fd = control("/dev/ubi_ctrl");
    if (ioctl(fd, UBI_IOCDET, &ubi) < 0)
        fail("detach: %s", strerror(errno));
    close(fd);
}

/* That of the root; others stay attached, as in the simulator. */
static void step_ubi_detach(void)
{
    detach(0);
}

void detach_ubi(void)
{
    for (int32_t ubi = UBI_MAX - 1; ubi >= 0; ubi--)
        if (is_attached(ubi))
            detach(ubi);
}

static long long ubi_number(int ubi, const char *name)
{
    char path[PATH_BYTES];
    long long value = -1;
    snprintf(path, sizeof path, "/sys/class/ubi/ubi%d/%s", ubi, name);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%lld", &value) != 1)
        fail("%s cannot be read", path);
    fclose(file);
    return value;
}

/* `bytes` 0: of all that is free. */
static void make_volume(int ubi, int volume, const char *name, uint64_t bytes)
{
    char path[32];
    struct ubi_mkvol_req request = {.vol_id = volume, .alignment = 1, .vol_type = UBI_DYNAMIC_VOLUME};
    request.bytes = (int64_t)bytes;
    if (!bytes)
        request.bytes = ubi_number(ubi, "avail_eraseblocks") * ubi_number(ubi, "eraseblock_size");
    request.name_len = (int16_t)strlen(name);
    snprintf(request.name, sizeof request.name, "%s", name);
    for (char *at = request.name; *at; at++)
        *at = *at == '/' ? '-' : *at;
    snprintf(path, sizeof path, "/dev/ubi%d", ubi);
    int fd = control(path);
    if (ioctl(fd, UBI_IOCMKVOL, &request) < 0)
        fail("volume: %s", strerror(errno));
    close(fd);
}

/* The volumes of others, and then the root's own of what is left. */
static void step_ubi_make_volume(void)
{
    for (int i = 1; i < places_n; i++)
        if (places[i].volume_B)
            make_volume(0, places[i].volume, places[i].at, places[i].volume_B);
    make_volume(0, places[0].volume, "v", 0);
}

/* ---- mount(2) ------------------------------------------------------------------------------------------------------ */

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

/* Returns the flags. */
static unsigned long mount_one(const struct place *place, const char *option_words, const char *fs_options)
{
    char options[256], words[256], device[16];
    unsigned long flags = 0;
    snprintf(words, sizeof words, "%s", option_words);
    snprintf(options, sizeof options, "%s", fs_options);
    for (char *word = strtok(words, ","); word; word = strtok(NULL, ",")) {
        int known = 0;
        while (MOUNT_FLAGS[known].word && strcmp(word, MOUNT_FLAGS[known].word) != 0)
            known++;
        if (MOUNT_FLAGS[known].word)
            flags = (flags & ~MOUNT_FLAGS[known].clear) | MOUNT_FLAGS[known].set;
        else
            snprintf(options + strlen(options), sizeof options - strlen(options), ",%s", word);
    }
    if (strcmp(place->fs, "ubifs") == 0)
        snprintf(device, sizeof device, "ubi%d_%d", place->ubi, place->volume);
    else
        snprintf(device, sizeof device, "mtd%d", place->mtd);
    if (mount(device, place->root, place->fs, flags, options[0] == ',' ? options + 1 : options) < 0)
        fail("mount%s%s: %s", place->at[0] ? " at /" : "", place->at, strerror(errno));
    return flags;
}

static void read_ahead_at(const struct place *place, const char *KiB)
{
    char path[64] = "/sys/class/bdi/mtd-0/read_ahead_kb";
    if (strcmp(place->fs, "ubifs") == 0)
        snprintf(path, sizeof path, "/sys/class/bdi/ubifs_%d_%d/read_ahead_kb", place->ubi, place->volume);
    write_file(path, KiB);
}

/* Whichever of both is there. */
static void root_read_ahead(const char *KiB)
{
    char path[64];
    write_file("/sys/class/bdi/mtd-0/read_ahead_kb", KiB);
    snprintf(path, sizeof path, "/sys/class/bdi/ubifs_0_%d/read_ahead_kb", places[0].volume);
    write_file(path, KiB);
}

/* The root, and at a mount that is no remount the others, in their order. */
static void step_mount(void)
{
    unsigned long flags = mount_one(&places[0], text("options", ""), text("fs_options", ""));
    mounted = 1;
    root_read_ahead(text("read_ahead_KiB", "0"));
    for (int i = 1; i < places_n && !(flags & MS_REMOUNT); i++) {
        struct place *place = &places[i];
        if (strcmp(place->fs, "ubifs") == 0 && !place->volume_B && !is_attached(place->ubi)) {
            attach(place->ubi, place->mtd, 0, place->max_beb_per1024);
            if (ubi_number(place->ubi, "volumes_count") == 0)
                make_volume(place->ubi, 0, "v", 0);
        }
        mount_one(place, place->options, place->fs_options);
        read_ahead_at(place, place->read_ahead_KiB);
    }
}

void umount_all(void)
{
    for (int i = places_n - 1; i >= 0; i--)
        must(umount(places[i].root));
    mounted = 0;
}

static void step_read_ahead(void)
{
    root_read_ahead(text("KiB", NULL));
    for (int i = 1; i < places_n; i++)
        read_ahead_at(&places[i], text("KiB", NULL));
}

const struct step MOUNT_STEPS[] = {
    {"place", step_place},
    {"mount", step_mount},
    {"umount", umount_all},
    {"ubi_attach", step_ubi_attach},
    {"ubi_detach", step_ubi_detach},
    {"ubi_detach_all", detach_ubi},
    {"ubi_make_volume", step_ubi_make_volume},
    {"read_ahead", step_read_ahead},
    {NULL, NULL},
};
