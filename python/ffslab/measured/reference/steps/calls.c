/* A step whose calls the simulator has written down: a job file, a recording, Postmark ... They are made one after the other.
 *
 * The step's key `calls` names a file with a call a line, "NAME ARGUMENTS =END"; END is "ok" or the error in which the call is to
 * end. The key `data` names the file of all bytes that calls write; a call has number and place of its own ones. */
#define _GNU_SOURCE
#include "steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 1024, WORDS_MAX = 8 };

static char *word[WORDS_MAX];
static const char *data;
static int descriptors[DESCRIPTORS_MAX];

static uint64_t numeral(int i)
{
    return strtoull(word[i], NULL, 10);
}

static int fd_in(int i)
{
    return descriptors[numeral(i) % DESCRIPTORS_MAX];
}

/* Paths of the simulator are below its root. "%" is the empty one. */
static const char *path_at(int i)
{
    return path_of(strcmp(word[i], "%") == 0 ? "" : decoded(word[i]) + (word[i][0] == '/'));
}

/* What the call writes: a number of bytes, and their place. */
static const char *bytes_at(int i)
{
    return data + numeral(i + 1);
}

static struct timespec time_at(int i)
{
    char *rest;
    struct timespec time = {0, UTIME_OMIT};
    if (strcmp(word[i], "same") != 0) {
        time.tv_sec = (time_t)strtoll(word[i], &rest, 10);
        time.tv_nsec = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    }
    return time;
}

static uint32_t id_at(int i)
{
    return strcmp(word[i], "same") == 0 ? UINT32_MAX : (uint32_t)numeral(i);
}

static int open_words(const char *words)
{
    static const struct { const char *word; int flag; } FLAGS[] = {
        {"rdonly", O_RDONLY}, {"wronly", O_WRONLY}, {"rdwr", O_RDWR}, {"create", O_CREAT}, {"exclusive", O_EXCL},
        {"truncate", O_TRUNC}, {"append", O_APPEND}, {"sync", O_SYNC}, {"dsync", O_DSYNC}, {"directory", O_DIRECTORY},
        {"nofollow", O_NOFOLLOW}, {"direct", O_DIRECT}, {"tmpfile", O_TMPFILE},
    };
    int flags = 0;
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        flags |= has(words, FLAGS[i].word) ? FLAGS[i].flag : 0;
    return flags;
}

static int all_entries(DIR *dir)
{
    if (!dir)
        return -1;
    while (readdir(dir))
        ;
    return closedir(dir);
}

static int is(const char *name)
{
    return strcmp(word[0], name) == 0;
}

/* Calls by descriptor. 1: `*end` is what the call returned. */
static int by_descriptor(int64_t *end)
{
    struct stat status;
    int fd = word[1] ? fd_in(1) : -1;
    if (is("pwrite"))
        *end = pwrite(fd, bytes_at(3), numeral(3), (off_t)numeral(2));
    else if (is("pread"))
        *end = pread(fd, scratch, numeral(3), (off_t)numeral(2));
    else if (is("write"))
        *end = write(fd, bytes_at(2), numeral(2));
    else if (is("read"))
        *end = read(fd, scratch, numeral(2));
    else if (is("writev"))
        *end = writev(fd, &(struct iovec){(char *)bytes_at(2), numeral(2)}, 1);
    else if (is("readv"))
        *end = readv(fd, &(struct iovec){scratch, numeral(2)}, 1);
    else if (is("lseek"))
        *end = lseek(fd, (off_t)strtoll(word[2], NULL, 10), (int)numeral(3)) < 0 ? -1 : 0;
    else if (is("fsync"))
        *end = fsync(fd);
    else if (is("fdatasync"))
        *end = fdatasync(fd);
    else if (is("ftruncate"))
        *end = ftruncate(fd, (off_t)numeral(2));
    else if (is("fstat"))
        *end = fstat(fd, &status);
    else if (is("getdents"))
        *end = all_entries(fdopendir(dup(fd)));
    else if (is("advise"))
        *end = (errno = advise_file(fd, (off_t)numeral(2), (off_t)numeral(3), word[4])) ? -1 : 0;
    else if (is("close"))
        *end = close(fd);
    else if (is("bind"))
        descriptors[numeral(1)] = open_file(decoded(word[2]))->fd;
    else
        return 0;
    return 1;
}

static void open_call(int64_t *end)
{
    int fd = open(path_at(2), open_words(word[3]), (mode_t)strtoul(word[4], NULL, 8));
    *end = fd < 0 ? -1 : 0;
    if (fd >= 0)
        descriptors[numeral(1) % DESCRIPTORS_MAX] = fd;
}

static void link_descriptor(int64_t *end)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd_in(1));
    *end = linkat(AT_FDCWD, path, AT_FDCWD, path_at(2), AT_SYMLINK_FOLLOW);
}

/* Calls by path. */
static int by_path(int64_t *end)
{
    struct stat status;
    if (is("open"))
        open_call(end);
    else if (is("mkdir"))
        *end = mkdir(path_at(1), (mode_t)strtoul(word[2], NULL, 8));
    else if (is("rmdir"))
        *end = rmdir(path_at(1));
    else if (is("unlink"))
        *end = unlink(path_at(1));
    else if (is("rename"))
        *end = renameat2(AT_FDCWD, path_at(1), AT_FDCWD, path_at(2), rename_flags(word[3]));
    else if (is("link"))
        *end = link(path_at(1), path_at(2));
    else if (is("flink"))
        link_descriptor(end);
    else if (is("symlink"))
        *end = symlink(decoded(word[2]), path_at(1));
    else if (is("readlink"))
        *end = readlink(path_at(1), scratch, PATH_BYTES);
    else if (is("readdir"))
        *end = all_entries(opendir(path_at(1)));
    else if (is("stat"))
        *end = stat(path_at(1), &status);
    else if (is("lstat"))
        *end = lstat(path_at(1), &status);
    else if (is("truncate"))
        *end = truncate(path_at(1), (off_t)numeral(2));
    else if (is("chmod"))
        *end = chmod(path_at(1), (mode_t)strtoul(word[2], NULL, 8));
    else if (is("chown"))
        *end = chown(path_at(1), id_at(2), id_at(3));
    else if (is("utimens"))
        *end = utimensat(AT_FDCWD, path_at(1), (struct timespec[]){time_at(2), time_at(3)}, 0);
    else if (is("setxattr"))
        *end = setxattr(path_at(1), decoded(word[2]), bytes_at(3), numeral(3), xattr_flag(word[5]));
    else if (is("getxattr"))
        *end = getxattr(path_at(1), decoded(word[2]), scratch, SCRATCH_BYTES);
    else if (is("listxattr"))
        *end = listxattr(path_at(1), scratch, SCRATCH_BYTES);
    else if (is("removexattr"))
        *end = removexattr(path_at(1), decoded(word[2]));
    else
        return 0;
    return 1;
}

static int of_system(int64_t *end)
{
    struct statfs space;
    *end = 0;
    if (is("sleep"))
        sleep_us(numeral(1) / 1000);
    else if (is("sync") || is("syncfs"))
        sync();
    else if (is("statfs"))
        *end = statfs(ROOT, &space);
    else if (is("drop_caches"))
        drop_caches("3");
    else if (is("drop_pages"))
        drop_caches("1");
    else
        return 0;
    return 1;
}

static void one_call(char *line, uint64_t number)
{
    int count = 0;
    for (char *at = strtok(line, " \n"); at && count < WORDS_MAX; at = strtok(NULL, " \n"))
        word[count++] = at;
    const char *told = word[count - 1] + 1, *name = word[0];
    word[count - 1] = NULL;
    int64_t end = 0;
    uint64_t from_ns = now_ns();
    if (!by_descriptor(&end) && !by_path(&end) && !of_system(&end))
        fail("no such call: %s", name);
    const char *found = end < 0 ? errno == EOPNOTSUPP ? "ENOTSUP" : strerrorname_np(errno) : "ok";
    if (is("pwrite") || is("pread") || is("write") || is("read") || is("writev") || is("readv"))
        call_took(from_ns);
    if (strcmp(found, told) != 0)
        fail("call %llu, %s: %s, in the simulation %s", (unsigned long long)number, name, found, told);
}

/* A file in memory, without a copy of it. */
static char *mapped(const char *path, size_t *bytes)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) < 0)
        fail("%s: %s", path, strerror(errno));
    *bytes = (size_t)status.st_size;
    char *found = *bytes ? mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0) : "";
    close(fd);
    if (found == MAP_FAILED)
        fail("%s: %s", path, strerror(errno));
    return found;
}

void run_calls(void)
{
    static char line[4 * PATH_BYTES];
    size_t bytes, of_data;
    uint64_t number = 0, started_ns;
    if (!data)
        data = mapped(text("data", NULL), &of_data);
    const char *calls = mapped(text("calls", NULL), &bytes), *end = calls + bytes;
    started_ns = now_ns();
    for (const char *at = calls, *next; at < end; at = next) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        next = (stop ? stop : end) + 1;
        snprintf(line, sizeof line, "%.*s", (int)(next - 1 - at), at);
        one_call(line, ++number);
    }
    result("calls", number);
    result("elapsed_ns", now_ns() - started_ns);
}
