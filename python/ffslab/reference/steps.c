/* Runs the steps of an experiment on the file system of a real kernel; the steps and their meaning are those of measured
 * cases. One process runs all steps. Compiled statically, so that it runs in any guest.
 *
 *   steps FILE OUT MARKER
 *
 * FILE: a step a line, "PHASE INDEX NAME key=value ..."; values hold no spaces. OUT gets a line for each step and the
 * latencies in nanoseconds; MARKER (a trace_marker of the kernel) a line "PHASE INDEX NAME" at the start of each step and
 * "end" after the last one, among the events of the trace. Memory for latencies is taken before the first step. Exit
 * status 1: a step failed otherwise than it was told to; the last line of OUT says which.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mtd/ubi-user.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define ROOT "/mnt"
enum { KEYS_MAX = 24, OPEN_MAX_FILES = 16, PATH_BYTES = 512, LATENCIES_MAX = 4 << 20, CONTENT_BYTES = 8 << 20 };

static FILE *out;
static int marker;
static char *content; /* of files: any bytes, since nothing depends on them without a compressor */
static uint32_t *latency_ns;
static size_t latencies;
static char step_name[128];
static int mounted;
static char fs[16] = "jffs2";

/* ---- keys of a step ------------------------------------------------------------------------------------------ */

static struct { const char *name, *value; } keys[KEYS_MAX];
static int key_count;

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(out, "\nfailed %s: ", step_name);
    vfprintf(out, format, args);
    fprintf(out, "\n");
    fclose(out);
    exit(1);
}

static void simple(int result)
{
    if (result < 0)
        fail("%s", strerror(errno));
}

static const char *text(const char *name, const char *otherwise)
{
    for (int i = 0; i < key_count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return keys[i].value;
    if (!otherwise)
        fail("key %s is missing", name);
    return otherwise;
}

static uint64_t number(const char *name, const char *otherwise)
{
    return strtoull(text(name, otherwise), NULL, 10);
}

static int has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
            return 1;
    return 0;
}

static const char *path_of(const char *name)
{
    static char paths[2][PATH_BYTES];
    static int turn;
    char *path = paths[turn = !turn];
    snprintf(path, PATH_BYTES, "%s/%s", ROOT, name);
    return path;
}

/* ---- clock, random numbers ----------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    if (us)
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
            ;
}

/* So that it does not matter how long the machine took to come here: the time since boot becomes phase_us modulo period_us. */
static void wait_for_phase(uint64_t period_us, uint64_t phase_us)
{
    uint64_t now_us = now_ns() / 1000, at_us = (now_us / period_us + 1) * period_us + phase_us;
    sleep_us(at_us - now_us);
}

static void call_took(uint64_t from_ns)
{
    uint64_t took_ns = now_ns() - from_ns;
    if (latencies == LATENCIES_MAX)
        fail("more than %d calls", LATENCIES_MAX);
    latency_ns[latencies++] = took_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)took_ns;
}

/* splitmix64, as measured cases say. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- files --------------------------------------------------------------------------------------------------- */

static struct { char name[PATH_BYTES]; int fd; } open_files[OPEN_MAX_FILES];

static int *open_file(const char *name)
{
    for (int i = 0; i < OPEN_MAX_FILES; i++)
        if (open_files[i].name[0] && strcmp(open_files[i].name, name) == 0)
            return &open_files[i].fd;
    fail("%s is not open", name);
}

/* Whether a call that returned -1 failed as the step says (`fails`); anything else ends the run. */
static int fails_as_told(int result, const char *what)
{
    const char *told = text("fails", "");
    if (result >= 0) {
        if (*told)
            fail("%s: %s was expected", what, told);
        return 0;
    }
    if (strcmp(told, strerrorname_np(errno)) != 0)
        fail("%s: %s", what, strerror(errno));
    return 1;
}

/* Writes all of it; short writes go on where they stopped. Returns what was written: less after ENOSPC. */
static uint64_t write_all(int fd, uint64_t bytes, uint64_t at)
{
    uint64_t done = 0;
    while (done < bytes) {
        ssize_t n = pwrite(fd, content, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == ENOSPC)
            return done;
        if (n < 0)
            fail("write: %s", strerror(errno));
        done += (uint64_t)n;
    }
    return done;
}

static int create(const char *name, int flags)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | flags, 0644);
    if (fd < 0)
        fail("open %s: %s", name, strerror(errno));
    return fd;
}

/* ---- steps: the file system ---------------------------------------------------------------------------------- */

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

/* ---- steps: files -------------------------------------------------------------------------------------------- */

static void step_create(void)
{
    uint64_t bytes = number("bytes", NULL), request_B = number("request_B", "65536"), at = 0;
    int fd = create(text("file", NULL), O_TRUNC);
    while (at < bytes) {
        uint64_t part = bytes - at < request_B ? bytes - at : request_B;
        uint64_t done = write_all(fd, part, at);
        at += done;
        if (done < part) {
            errno = ENOSPC;
            fails_as_told(-1, "write");
            break;
        }
    }
    close(fd);
    fprintf(out, " bytes=%llu", (unsigned long long)at);
}

static void step_fill(void)
{
    uint64_t request_B = number("request_B", "65536"), at = 0, done;
    int fd = create(text("file", NULL), O_TRUNC);
    do {
        done = write_all(fd, request_B, at);
        at += done;
    } while (done == request_B);
    close(fd);
    fprintf(out, " fill_bytes=%llu", (unsigned long long)at);
}

static void step_create_fragmented(void)
{
    uint64_t bytes = number("bytes", NULL), state = number("seed", "1"), n = 0, at = 0;
    struct { uint64_t at, bytes; } *pieces = calloc(bytes / 512 + 1, sizeof *pieces), held;
    for (; at < bytes; n++) {
        uint64_t piece_B = 512u << (next(&state) % 4);
        pieces[n].at = at;
        pieces[n].bytes = piece_B < bytes - at ? piece_B : bytes - at;
        at += pieces[n].bytes;
    }
    for (uint64_t i = n - 1; i >= 1; i--) {
        uint64_t j = next(&state) % (i + 1);
        held = pieces[i], pieces[i] = pieces[j], pieces[j] = held;
    }
    int fd = create(text("file", NULL), O_TRUNC);
    for (uint64_t i = 0; i < n; i++)
        if (write_all(fd, pieces[i].bytes, pieces[i].at) < pieces[i].bytes || fsync(fd) < 0)
            fail("no room after %llu pieces", (unsigned long long)i);
    close(fd);
    free(pieces);
    fprintf(out, " fragment_pieces=%llu", (unsigned long long)n);
}

static void step_open(void)
{
    const char *words = text("flags", ""), *name = text("file", NULL);
    int flags = has(words, "rdwr") ? O_RDWR : has(words, "wronly") ? O_WRONLY : O_RDONLY;
    flags |= has(words, "create") ? O_CREAT : 0;
    flags |= has(words, "truncate") ? O_TRUNC : 0;
    flags |= has(words, "append") ? O_APPEND : 0;
    flags |= has(words, "sync") ? O_SYNC : 0;
    int fd = open(path_of(name), flags, 0644);
    if (fails_as_told(fd, name))
        return;
    for (int i = 0; i < OPEN_MAX_FILES; i++)
        if (!open_files[i].name[0]) {
            snprintf(open_files[i].name, PATH_BYTES, "%s", name);
            open_files[i].fd = fd;
            return;
        }
    fail("more than %d files are open", OPEN_MAX_FILES);
}

static void step_close(void)
{
    int *fd = open_file(text("file", NULL));
    close(*fd);
    ((char *)fd - offsetof(__typeof__(open_files[0]), fd))[0] = 0;
}

static void step_requests(void)
{
    int fd = *open_file(text("file", NULL)), writes = strcmp(text("op", NULL), "write") == 0;
    int random = strcmp(text("pattern", NULL), "random") == 0;
    uint64_t request_B = number("request_B", NULL), count = number("count", NULL), state = number("seed", "1");
    uint64_t gap_us = number("gap_us", "0"), range_B = number("range_B", "0"), done = 0, accepted = 0;
    const char *stopped = NULL;
    struct stat status;
    if (!range_B && fstat(fd, &status) == 0)
        range_B = (uint64_t)status.st_size;
    uint64_t slots = range_B / request_B, started_ns = now_ns();
    if (!slots || request_B > CONTENT_BYTES)
        fail("requests of %llu B do not fit", (unsigned long long)request_B);
    for (; done < count; done++) {
        off_t at = (off_t)((random ? next(&state) % slots : done % slots) * request_B);
        uint64_t from_ns = now_ns();
        ssize_t n = writes ? pwrite(fd, content, request_B, at) : pread(fd, content, request_B, at);
        if (n < 0) {
            stopped = strerrorname_np(errno);
            break;
        }
        call_took(from_ns);
        accepted += (uint64_t)n;
        sleep_us(gap_us);
    }
    fprintf(out, " elapsed_ns=%llu", (unsigned long long)(now_ns() - started_ns));
    fprintf(out, " requests_done=%llu bytes_accepted=%llu", (unsigned long long)done, (unsigned long long)accepted);
    if (stopped)
        fprintf(out, " stopped_by=%s", stopped);
}

static void step_append(void)
{
    const char *how = text("sync", "none"), *name = text("file", NULL);
    uint64_t request_B = number("request_B", NULL), count = number("count", NULL), started_ns = now_ns();
    int fd = *open_file(name);
    off_t end = lseek(fd, 0, SEEK_END);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from_ns = now_ns();
        if (write_all(fd, request_B, (uint64_t)end) < request_B)
            fail("no room after %llu of %llu", (unsigned long long)i, (unsigned long long)count);
        end += (off_t)request_B;
        if (strcmp(how, "fsync") == 0)
            simple(fsync(fd));
        else if (strcmp(how, "fdatasync") == 0)
            simple(fdatasync(fd));
        else if (strcmp(how, "sync") == 0)
            sync();
        call_took(from_ns);
    }
    fprintf(out, " elapsed_ns=%llu", (unsigned long long)(now_ns() - started_ns));
}

static const char *many_path(uint64_t i)
{
    char name[PATH_BYTES / 2];
    const char *dir = text("dir", "");
    snprintf(name, sizeof name, "%s%sf%04llu", dir, *dir ? "/" : "", (unsigned long long)i);
    return path_of(name);
}

static void step_create_many(void)
{
    uint64_t count = number("count", "0"), bytes = number("bytes", NULL), request_B = number("request_B", "0"), i = 0;
    int until_full = strcmp(text("until", ""), "ENOSPC") == 0, syncs = strcmp(text("fsync", "false"), "true") == 0;
    uint64_t started_ns = now_ns();
    for (int full = 0; !full && (until_full || i < count); i++) {
        uint64_t from_ns = now_ns(), at = 0, part = request_B ? request_B : bytes;
        int fd = open(many_path(i), O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0 && errno == ENOSPC && until_full)
            break;
        if (fd < 0)
            fail("file %llu: %s", (unsigned long long)i, strerror(errno));
        while (!full && at < bytes) {
            uint64_t wanted = bytes - at < part ? bytes - at : part, done = write_all(fd, wanted, at);
            full = done < wanted;
            at += done;
        }
        if (full && !until_full)
            fail("file %llu: no room", (unsigned long long)i);
        if (syncs && !full)
            simple(fsync(fd));
        close(fd);
        call_took(from_ns);
    }
    fprintf(out, " files=%llu elapsed_ns=%llu", (unsigned long long)i, (unsigned long long)(now_ns() - started_ns));
}

static void each_of_many(void)
{
    uint64_t count = number("count", NULL), bytes = number("bytes", "0"), started_ns = now_ns();
    struct stat status;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from_ns = now_ns();
        const char *path = many_path(i);
        int result = -1;
        if (strstr(step_name, "stat_many")) {
            result = stat(path, &status);
        } else if (strstr(step_name, "unlink_many")) {
            result = unlink(path);
        } else {
            int fd = open(path, O_RDONLY);
            result = fd < 0 ? fd : (int)pread(fd, content, bytes, 0);
            close(fd);
        }
        if (result < 0)
            fail("%s: %s", path, strerror(errno));
        call_took(from_ns);
    }
    fprintf(out, " elapsed_ns=%llu", (unsigned long long)(now_ns() - started_ns));
}

static void step_readdir(void)
{
    DIR *dir = opendir(path_of(text("dir", "")));
    if (!dir)
        fail("opendir: %s", strerror(errno));
    while (readdir(dir))
        ;
    closedir(dir);
}

static void step_of_few_words(const char *name)
{
    struct stat status;
    if (strcmp(name, "umount") == 0) {
        simple(umount(ROOT));
        mounted = 0;
    } else if (strcmp(name, "sync") == 0) {
        sync();
    } else if (strcmp(name, "drop_caches") == 0) {
        write_file("/proc/sys/vm/drop_caches", "3");
    } else if (strcmp(name, "sleep") == 0) {
        sleep_us(number("us", NULL));
    } else if (strcmp(name, "unlink") == 0) {
        simple(unlink(path_of(text("file", NULL))));
    } else if (strcmp(name, "rename") == 0) {
        fails_as_told(rename(path_of(text("file", NULL)), path_of(text("to", NULL))), "rename");
    } else if (strcmp(name, "link") == 0) {
        fails_as_told(link(path_of(text("file", NULL)), path_of(text("to", NULL))), "link");
    } else if (strcmp(name, "truncate") == 0) {
        simple(truncate(path_of(text("file", NULL)), (off_t)number("bytes", NULL)));
    } else if (strcmp(name, "fsync") == 0) {
        simple(fsync(*open_file(text("file", NULL))));
    } else if (strcmp(name, "stat") == 0) {
        fails_as_told(stat(path_of(text("file", NULL)), &status), "stat");
    } else if (strcmp(name, "mkdir") == 0) {
        simple(mkdir(path_of(text("dir", NULL)), 0755));
    } else if (strcmp(name, "begin") == 0) {
        snprintf(fs, sizeof fs, "%s", text("fs", NULL));
        wait_for_phase(number("period_us", NULL), number("phase_us", NULL));
    } else {
        fail("no such step");
    }
}

static const struct { const char *name; void (*run)(void); } STEPS[] = {
    {"mount", step_mount},
    {"ubi_attach", step_ubi_attach},
    {"ubi_detach", step_ubi_detach},
    {"ubi_make_volume", step_ubi_make_volume},
    {"create", step_create},
    {"fill", step_fill},
    {"create_fragmented", step_create_fragmented},
    {"open", step_open},
    {"close", step_close},
    {"requests", step_requests},
    {"append", step_append},
    {"create_many", step_create_many},
    {"stat_many", each_of_many},
    {"read_many", each_of_many},
    {"unlink_many", each_of_many},
    {"readdir", step_readdir},
};

static void run_step(const char *name)
{
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++)
        if (strcmp(STEPS[i].name, name) == 0) {
            STEPS[i].run();
            return;
        }
    step_of_few_words(name);
}

/* ---- all steps ----------------------------------------------------------------------------------------------- */

static void one_line(char *line)
{
    char phase[16] = "", *word;
    int index = 0;
    key_count = 0;
    snprintf(phase, sizeof phase, "%s", strtok(line, " \n"));
    index = atoi(strtok(NULL, " \n"));
    const char *name = strtok(NULL, " \n");
    snprintf(step_name, sizeof step_name, "%s step %d (%s)", phase, index + 1, name);
    while ((word = strtok(NULL, " \n")) != NULL && key_count < KEYS_MAX) {
        char *equals = strchr(word, '=');
        *equals = 0;
        keys[key_count].name = word;
        keys[key_count++].value = equals + 1;
    }
    size_t first = latencies;
    fprintf(out, "step %s %d", phase, index);
    dprintf(marker, "%s %d %s\n", phase, index, name);
    uint64_t from_ns = now_ns();
    run_step(name);
    uint64_t to_ns = now_ns();
    fprintf(out, " from_ns=%llu to_ns=%llu", (unsigned long long)from_ns, (unsigned long long)to_ns);
    fprintf(out, " first_latency=%zu latencies=%zu", first, latencies - first);
    struct statfs space;
    if (mounted && statfs(ROOT, &space) == 0)
        fprintf(out, " fs_free_B=%llu", (unsigned long long)space.f_bfree * (unsigned long long)space.f_bsize);
    fprintf(out, "\n");
}

int main(int argc, char **argv)
{
    if (argc != 4 || !(out = fopen(argv[2], "w"))) {
        fprintf(stderr, "usage: steps FILE OUT MARKER\n");
        return 2;
    }
    FILE *steps = fopen(argv[1], "r");
    marker = open(argv[3], O_WRONLY);
    content = malloc(CONTENT_BYTES);
    latency_ns = calloc(LATENCIES_MAX, sizeof *latency_ns);
    if (!steps || marker < 0 || !content || !latency_ns)
        fail("%s or %s: %s", argv[1], argv[3], strerror(errno));
    uint64_t state = 42;
    for (size_t i = 0; i < CONTENT_BYTES; i += 8)
        *(uint64_t *)(content + i) = next(&state);
    /* Everything is in memory before the first step, this program's own pages included. */
    mlockall(MCL_CURRENT);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, steps) > 0)
        one_line(line);
    dprintf(marker, "end\n");
    for (size_t i = 0; i < latencies; i++)
        fprintf(out, "%u\n", latency_ns[i]);
    fprintf(out, "done\n");
    return fclose(out) != 0;
}
