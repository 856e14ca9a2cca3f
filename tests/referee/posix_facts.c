/* What a file system answers where POSIX leaves room, or where it does not follow POSIX: one line for each fact, none of
 * which depends on the time of day. Run below an empty folder: by a real kernel, and on a mount of ffslab. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static void fact(const char *name, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    printf("%s: ", name);
    vprintf(format, values);
    printf("\n");
    va_end(values);
}

/* How a call ended: "ok", or the name of its error. */
static const char *end(long result)
{
    return result >= 0 ? "ok" : strerrorname_np(errno);
}

static void ended(const char *name, long result)
{
    fact(name, "%s", end(result));
}

static struct stat of(const char *path)
{
    struct stat found = {0};
    if (lstat(path, &found) != 0) {
        perror(path);
        exit(1);
    }
    return found;
}

static int make(const char *path, int bytes)
{
    static char zeros[1 << 20];
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
    if (fd < 0 || write(fd, zeros, bytes) != bytes) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void new_file(const char *path)
{
    close(make(path, 0));
}

static char *text(int bytes)
{
    char *made = malloc(bytes + 1);
    memset(made, 'x', bytes);
    made[bytes] = 0;
    return made;
}

/* ---- sizes and counts -------------------------------------------------------------------------------------------- */

static void blocks(const char *name, const char *path)
{
    struct stat found = of(path);
    fact(name, "%ld blocks of %ld B", (long)found.st_blocks, (long)found.st_size);
}

static void sizes(void)
{
    const int bytes[] = {0, 1, 512, 513, 4096, 4097, 100000};
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        char path[40], name[60];
        sprintf(path, "size%d", bytes[i]);
        sprintf(name, "st_blocks, file of %d B", bytes[i]);
        close(make(path, bytes[i]));
        blocks(name, path);
    }
    close(make("sparse", 1));
    truncate("sparse", 100000);
    blocks("st_blocks, sparse file", "sparse");
    truncate("sparse", 5000);
    blocks("st_blocks, file cut short", "sparse");
    symlink("target", "new link");
    blocks("st_blocks, new symbolic link", "new link");
    mkfifo("fifo", 0600);
    fact("st_blocks, FIFO", "%ld", (long)of("fifo").st_blocks);
    mkdir("directory", 0755);
    fact("st_blocks is 0, directory", "%d", of("directory").st_blocks == 0);
    fact("st_blksize", "%ld", (long)of("size1").st_blksize);
}

static void links(void)
{
    mkdir("n", 0755);
    fact("nlink, new directory", "%ld", (long)of("n").st_nlink);
    mkdir("n/a", 0755);
    mkdir("n/b", 0755);
    new_file("n/f");
    fact("nlink, directory with two", "%ld", (long)of("n").st_nlink);
    rename("n/a", "n/c");
    fact("nlink, one renamed", "%ld", (long)of("n").st_nlink);
    rename("n/c", "n/b");
    fact("nlink, one renamed over the other", "%ld", (long)of("n").st_nlink);
    rename("n/b", "out");
    fact("nlink, one moved out", "%ld", (long)of("n").st_nlink);
    rmdir("out");
    link("n/f", "n/g");
    fact("nlink, file with two names", "%ld", (long)of("n/f").st_nlink);
    int fd = open("n/f", O_RDONLY);
    struct stat found;
    unlink("n/f");
    fstat(fd, &found);
    fact("nlink, one name taken away", "%ld", (long)found.st_nlink);
    new_file("n/h");
    rename("n/h", "n/g");
    fstat(fd, &found);
    fact("nlink, the other replaced", "%ld", (long)found.st_nlink);
    close(fd);
    mkdir("n/gone", 0755);
    fd = open("n/gone", O_RDONLY | O_DIRECTORY);
    rmdir("n/gone");
    fstat(fd, &found);
    fact("nlink, removed directory", "%ld", (long)found.st_nlink);
    close(fd);
}

static void limits(void)
{
    const int targets[] = {159, 160, 254, 255, 1023, 4095, 4096};
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++) {
        char path[40], name[60], back[5000];
        sprintf(path, "link%d", targets[i]);
        sprintf(name, "symbolic link to %d bytes", targets[i]);
        ended(name, symlink(text(targets[i]), path));
        if (access(path, F_OK) == 0 && readlink(path, back, sizeof back) != targets[i])
            fact(name, "read back wrongly");
    }
    for (int bytes = 253; bytes <= 256; bytes++) {
        char name[60];
        sprintf(name, "name of %d bytes", bytes);
        ended(name, open(text(bytes), O_CREAT | O_RDWR, 0644));
    }
    struct statvfs about;
    statvfs(".", &about);
    fact("f_namemax", "%ld", (long)about.f_namemax);
}

/* ---- open and map ------------------------------------------------------------------------------------------------ */

static void direct(void)
{
    close(make("direct", 100));
    ended("O_DIRECT, existing file", open("direct", O_RDWR | O_DIRECT));
    ended("O_DIRECT, directory", open(".", O_RDONLY | O_DIRECTORY | O_DIRECT));
    ended("O_DIRECT and O_TRUNC", open("direct", O_RDWR | O_TRUNC | O_DIRECT));
    fact("size after that", "%ld", (long)of("direct").st_size);
    ended("O_DIRECT and O_CREAT", open("made directly", O_RDWR | O_CREAT | O_DIRECT, 0644));
    ended("the file after that", access("made directly", F_OK));
    int fd = open("direct", O_RDWR);
    ended("O_DIRECT by fcntl", fcntl(fd, F_SETFL, O_DIRECT));
    close(fd);
}

static void map(const char *name, int access, int protection, int flags)
{
    int fd = open("mapped", access);
    char *memory = mmap(NULL, 4096, protection, flags, fd, 0);
    ended(name, memory == MAP_FAILED ? -1 : 0);
    if (memory != MAP_FAILED && memory[0] != 0)
        fact(name, "holds something else");
    close(fd);
}

static void maps(void)
{
    close(make("mapped", 10000));
    map("shared map to write", O_RDWR, PROT_READ | PROT_WRITE, MAP_SHARED);
    map("shared map to read, file open for writing", O_RDWR, PROT_READ, MAP_SHARED);
    map("shared map to read, file open for reading", O_RDONLY, PROT_READ, MAP_SHARED);
    map("private map to write", O_RDWR, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    map("private map to read", O_RDONLY, PROT_READ, MAP_PRIVATE);
}

static void other_calls(void)
{
    int fd = make("calls", 100);
    ended("fallocate", fallocate(fd, 0, 0, 5000));
    ended("punch a hole", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 50));
    truncate("calls", 20000);
    fact("SEEK_DATA", "%ld", (long)lseek(fd, 8192, SEEK_DATA));
    fact("SEEK_HOLE", "%ld", (long)lseek(fd, 0, SEEK_HOLE));
    close(fd);
    ended("O_TMPFILE", open(".", O_TMPFILE | O_RDWR, 0600));
    ended("rename and exchange", renameat2(AT_FDCWD, "calls", AT_FDCWD, "sparse", RENAME_EXCHANGE));
    ended("user.* attribute", setxattr("calls", "user.a", "1", 1, 0));
    ended("link to a directory", link("directory", "directory 2"));
    ended("unlink of a directory", unlink("directory"));
    ended("rmdir of a file", rmdir("calls"));
    mkdir("full", 0755);
    mkdir("full/a", 0755);
    ended("rmdir of a full directory", rmdir("full"));
    ended("rename over a full directory", rename("directory", "full"));
    ended("rename below itself", rename("full", "full/a/b"));
    ended("rename of a file over a directory", rename("calls", "directory"));
    ended("rename of a directory over a file", rename("directory", "calls"));
}

/* ---- time stamps ------------------------------------------------------------------------------------------------- */

/* A file or directory whose time stamps are watched, through a descriptor that outlives its name. */
struct watched {
    int fd;
    struct stat before;
};

static struct watched watch(const char *path)
{
    struct watched it = {.fd = open(path, O_RDONLY)};
    fstat(it.fd, &it.before);
    return it;
}

static int differ(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
}

static void moved(const char *name, struct watched *it)
{
    struct stat now;
    fstat(it->fd, &now);
    fact(name, "mtime %s, ctime %s", differ(now.st_mtim, it->before.st_mtim) ? "moves" : "stays",
         differ(now.st_ctim, it->before.st_ctim) ? "moves" : "stays");
    close(it->fd);
}

static const char *FILES[] = {"link", "unlink", "rename", "over", "victim", "chmod", "chown", "write", "nothing",
                              "cut", "same", "grow", "fcut", "fsame", "touch", "read", "opentrunc", "append"};
static const char *DIRECTORIES[] = {"d link", "d unlink", "d from", "d to", "d over", "d make", "d symlink",
                                    "d mkdir", "d rmdir", "d mkfifo", "d removed"};

static void times(void)
{
    char name[60];
    for (unsigned i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        sprintf(name, "t %s", FILES[i]);
        close(make(name, 100));
    }
    for (unsigned i = 0; i < sizeof DIRECTORIES / sizeof *DIRECTORIES; i++)
        mkdir(DIRECTORIES[i], 0755);
    new_file("d unlink/name");
    link("t unlink", "d unlink/second");
    new_file("d from/moves");
    new_file("d over/new");
    new_file("d over/old");
    mkdir("d rmdir/empty", 0755);
    new_file("d mkfifo/other");
    sync();
    /* Time stamps are of whole seconds. */
    usleep(2100000);

    struct watched file, victim, directory, other;
#define WATCH_FILE(path) file = watch("t " path)
    WATCH_FILE("link"), directory = watch("d link");
    link("t link", "d link/second");
    moved("link: the file", &file), moved("link: the directory", &directory);
    WATCH_FILE("unlink"), directory = watch("d unlink");
    unlink("d unlink/second");
    moved("unlink of a second name: the file", &file), moved("unlink: the directory", &directory);
    victim = watch("d unlink/name");
    unlink("d unlink/name");
    moved("unlink of the last name: the file", &victim);
    file = watch("d from/moves"), directory = watch("d from"), other = watch("d to");
    rename("d from/moves", "d to/moved");
    moved("rename: the file", &file), moved("rename: the old directory", &directory);
    moved("rename: the new directory", &other);
    file = watch("d over/new"), victim = watch("d over/old"), directory = watch("d over");
    rename("d over/new", "d over/old");
    moved("rename over: the file", &file), moved("rename over: the victim", &victim);
    moved("rename over: the directory", &directory);
    file = watch("d removed"), directory = watch(".");
    rmdir("d removed");
    moved("rmdir: the removed", &file), moved("rmdir: the directory above", &directory);
    directory = watch("d make");
    new_file("d make/file");
    moved("creat: the directory", &directory);
    directory = watch("d symlink");
    symlink("x", "d symlink/link");
    moved("symlink: the directory", &directory);
    directory = watch("d mkdir");
    mkdir("d mkdir/new", 0755);
    moved("mkdir: the directory", &directory);
    directory = watch("d rmdir");
    rmdir("d rmdir/empty");
    moved("rmdir: the directory", &directory);
    directory = watch("d mkfifo");
    mkfifo("d mkfifo/fifo", 0600);
    moved("mkfifo: the directory", &directory);

    WATCH_FILE("chmod");
    chmod("t chmod", 0600);
    moved("chmod", &file);
    WATCH_FILE("chown");
    chown("t chown", getuid(), getgid());
    moved("chown", &file);
    int fd = open("t write", O_WRONLY);
    WATCH_FILE("write");
    write(fd, "x", 1);
    moved("write, before anything is flushed", &file);
    WATCH_FILE("write");
    fsync(fd), close(fd);
    moved("fsync and close at once after it", &file);
    fd = open("t nothing", O_WRONLY);
    WATCH_FILE("nothing");
    write(fd, "", 0);
    moved("write of nothing", &file);
    close(fd);
    fd = open("t append", O_WRONLY | O_APPEND);
    WATCH_FILE("append");
    write(fd, "x", 1);
    moved("append", &file);
    close(fd);
    WATCH_FILE("cut");
    truncate("t cut", 10);
    moved("truncate, shorter", &file);
    WATCH_FILE("same");
    truncate("t same", 100);
    moved("truncate, as it was", &file);
    WATCH_FILE("grow");
    truncate("t grow", 9000);
    moved("truncate, longer", &file);
    fd = open("t fcut", O_WRONLY);
    WATCH_FILE("fcut");
    ftruncate(fd, 10);
    moved("ftruncate, shorter", &file);
    close(fd);
    fd = open("t fsame", O_WRONLY);
    WATCH_FILE("fsame");
    ftruncate(fd, 100);
    moved("ftruncate, as it was", &file);
    close(fd);
    WATCH_FILE("opentrunc");
    close(open("t opentrunc", O_WRONLY | O_TRUNC));
    moved("open with O_TRUNC", &file);
    WATCH_FILE("touch");
    utimensat(AT_FDCWD, "t touch", NULL, 0);
    moved("utimensat, now", &file);
    char byte;
    WATCH_FILE("read");
    struct stat after;
    pread(file.fd, &byte, 1, 0);
    fstat(file.fd, &after);
    fact("read: atime", "%s", differ(after.st_atim, file.before.st_atim) ? "moves" : "stays");
    close(file.fd);
    const struct timespec given[2] = {{1000000000, 123456789}, {1100000000, 987654321}};
    utimensat(AT_FDCWD, "t touch", given, 0);
    fact("nanoseconds that are kept", "%ld, %ld", of("t touch").st_atim.tv_nsec, of("t touch").st_mtim.tv_nsec);
}

/* ---- flags of chattr --------------------------------------------------------------------------------------------- */

static int set_flags(const char *path, int flags)
{
    int fd = open(path, O_RDONLY);
    int result = ioctl(fd, FS_IOC_SETFLAGS, &flags), error = errno;
    close(fd);
    errno = error;
    return result;
}

static void show_flags(const char *name, const char *path)
{
    int flags = 0, fd = open(path, O_RDONLY);
    int result = ioctl(fd, FS_IOC_GETFLAGS, &flags);
    if (result < 0)
        ended(name, result);
    else
        fact(name, "%#x", flags);
    close(fd);
}

static void flags(void)
{
    new_file("flags");
    mkdir("flags d", 0755);
    show_flags("flags of a file", "flags");
    show_flags("flags of a directory", "flags d");
    ended("unknown flag", set_flags("flags", FS_NODUMP_FL));
    if (set_flags("flags", FS_SYNC_FL | FS_DIRSYNC_FL) < 0) {
        ended("flags set", -1);
        return;
    }
    show_flags("S and D of a file", "flags");
    set_flags("flags d", FS_SYNC_FL | FS_DIRSYNC_FL | FS_APPEND_FL);
    show_flags("S, D and a of a directory", "flags d");
    new_file("flags d/file");
    mkdir("flags d/directory", 0755);
    show_flags("file made in it", "flags d/file");
    show_flags("directory made in it", "flags d/directory");
    ended("unlink in a directory with a", unlink("flags d/file"));
    ended("rename in it", rename("flags d/file", "flags d/other"));
    ended("rename into it", rename("size1", "flags d/more"));
    set_flags("flags d", FS_IMMUTABLE_FL);
    ended("unlink in a directory with i", unlink("flags d/file"));
    ended("creat in it", open("flags d/new", O_CREAT | O_RDWR, 0644));
    ended("mkdir in it", mkdir("flags d/new", 0755));
    ended("open of a file in it", open("flags d/file", O_RDWR));
    set_flags("flags d", 0);

    const char *letters[] = {"a", "i"};
    const int bits[] = {FS_APPEND_FL, FS_IMMUTABLE_FL};
    for (int i = 0; i < 2; i++) {
        char path[20], name[80];
        sprintf(path, "flag %s", letters[i]);
        close(make(path, 10));
        set_flags(path, bits[i]);
#define OF_FLAGGED(what, call)                                                                                         \
    sprintf(name, "file with %s: %s", letters[i], what);                                                              \
    ended(name, call);
        OF_FLAGGED("open to read", open(path, O_RDONLY));
        OF_FLAGGED("open to write", open(path, O_WRONLY));
        int fd = open(path, O_WRONLY | O_APPEND);
        OF_FLAGGED("open to append", fd);
        OF_FLAGGED("write there", write(fd, "x", 1));
        OF_FLAGGED("ftruncate there", ftruncate(fd, 5));
        OF_FLAGGED("open to append and truncate", open(path, O_WRONLY | O_APPEND | O_TRUNC));
        OF_FLAGGED("truncate", truncate(path, 5));
        OF_FLAGGED("chmod", chmod(path, 0600));
        OF_FLAGGED("touch", utimensat(AT_FDCWD, path, NULL, 0));
        const struct timespec given[2] = {{1000000000, 0}, {1100000000, 0}};
        OF_FLAGGED("utimensat", utimensat(AT_FDCWD, path, given, 0));
        OF_FLAGGED("link", link(path, "flagged link"));
        OF_FLAGGED("rename", rename(path, "flagged name"));
        OF_FLAGGED("rename over", rename("direct", path));
        OF_FLAGGED("unlink", unlink(path));
        OF_FLAGGED("setxattr", setxattr(path, "user.a", "1", 1, 0));
        sprintf(name, "file with %s: size", letters[i]);
        fact(name, "%ld", (long)of(path).st_size);
        set_flags(path, 0);
        OF_FLAGGED("unlink without it", unlink(path));
    }
    close(make("attributed", 1));
    setxattr("attributed", "user.a", text(3000), 3000, 0);
    setxattr("attributed", "user.b", text(3000), 3000, 0);
    blocks("st_blocks, file with attributes of 6000 B", "attributed");
}

int main(int count, char **words)
{
    if (count != 2 || chdir(words[1]) != 0) {
        fprintf(stderr, "usage: posix_facts FOLDER\n");
        return 2;
    }
    umask(022);
    sizes();
    links();
    limits();
    direct();
    maps();
    other_calls();
    times();
    flags();
    return 0;
}
