/* Steps that are about names, directories and attributes. */
#define _GNU_SOURCE
#include "steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- names --------------------------------------------------------------------------------------------------------- */

static void step_unlink(void)
{
    must(unlink(path_in("file")));
}

unsigned rename_flags(const char *words)
{
    unsigned flags = has(words, "noreplace") ? RENAME_NOREPLACE : 0;
    flags |= has(words, "exchange") ? RENAME_EXCHANGE : 0;
    return flags | (has(words, "whiteout") ? RENAME_WHITEOUT : 0);
}

static void step_rename(void)
{
    unsigned flags = rename_flags(text("flags", ""));
    fails_as_told(renameat2(AT_FDCWD, path_in("file"), AT_FDCWD, path_in("to"), flags), "rename");
}

/* A file without a name is linked by its descriptor, as open(2) says. */
static void step_link(void)
{
    struct open_file *open = find_open(text("file", NULL));
    if (open && open->unnamed) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", open->fd);
        fails_as_told(linkat(AT_FDCWD, path, AT_FDCWD, path_in("to"), AT_SYMLINK_FOLLOW), "link");
        return;
    }
    fails_as_told(link(path_in("file"), path_in("to")), "link");
}

static void step_symlink(void)
{
    fails_as_told(symlink(text("target", NULL), path_in("file")), "symlink");
}

static void step_readlink(void)
{
    fails_as_told((int)readlink(path_in("file"), scratch, PATH_BYTES), "readlink");
}

static void step_mkdir(void)
{
    must(mkdir(path_in("dir"), 0755));
}

static void step_rmdir(void)
{
    fails_as_told(rmdir(path_in("dir")), "rmdir");
}

/* The names in the order in which they come, as file systems differ in it: in hexadecimal, so that they hold no spaces. */
/* The names in the order in which they come, as file systems differ in it: in hexadecimal, so that they hold no spaces. */
static void step_readdir(void)
{
    DIR *dir = opendir(path_of(text("dir", "")));
    struct dirent *entry;
    size_t used = 0;
    if (!dir)
        fail("opendir: %s", strerror(errno));
    while ((entry = readdir(dir)))
        used += (size_t)snprintf(scratch + used, SCRATCH_BYTES - used, "%s%s", used ? "/" : "", entry->d_name);
    closedir(dir);
    result_bytes("names", scratch, used);
}

/* ---- attributes ---------------------------------------------------------------------------------------------------- */

static void step_stat(void)
{
    struct stat status;
    fails_as_told(stat(path_in("file"), &status), "stat");
}

static void step_statfs(void)
{
    struct statfs space;
    must(statfs(ROOT, &space));
}

static void step_chmod(void)
{
    fails_as_told(chmod(path_in("file"), (mode_t)strtoul(text("permissions", NULL), NULL, 8)), "chmod");
}

static void step_chown(void)
{
    /* 4294967295 is -1: that one stays as it is. */
    uid_t uid = (uid_t)number("uid", "4294967295");
    gid_t gid = (gid_t)number("gid", "4294967295");
    fails_as_told(chown(path_in("file"), uid, gid), "chown");
}

static struct timespec time_in(const char *key)
{
    struct timespec time = {0, UTIME_OMIT};
    if (*text(key, ""))
        time = (struct timespec){(time_t)number(key, NULL), 0};
    return time;
}

static void step_utimens(void)
{
    struct timespec times[2] = {time_in("accessed_s"), time_in("modified_s")};
    fails_as_told(utimensat(AT_FDCWD, path_in("file"), times, 0), "utimens");
}

int xattr_flag(const char *word)
{
    return strcmp(word, "create") == 0 ? XATTR_CREATE : strcmp(word, "replace") == 0 ? XATTR_REPLACE : 0;
}

static void step_setxattr(void)
{
    const char *value = text("value", "");
    int flags = xattr_flag(text("flag", ""));
    size_t bytes = *value ? strlen(value) : (size_t)number("bytes", "0");
    fails_as_told(setxattr(path_in("file"), text("name", NULL), *value ? value : piece(bytes), bytes, flags), "setxattr");
}

static void step_getxattr(void)
{
    fails_as_told((int)getxattr(path_in("file"), text("name", NULL), scratch, SCRATCH_BYTES), "getxattr");
}

static void step_listxattr(void)
{
    must((int)listxattr(path_in("file"), scratch, SCRATCH_BYTES));
}

static void step_removexattr(void)
{
    fails_as_told(removexattr(path_in("file"), text("name", NULL)), "removexattr");
}

const struct step NAME_STEPS[] = {
    {"unlink", step_unlink},
    {"rename", step_rename},
    {"link", step_link},
    {"symlink", step_symlink},
    {"readlink", step_readlink},
    {"mkdir", step_mkdir},
    {"rmdir", step_rmdir},
    {"readdir", step_readdir},
    {"stat", step_stat},
    {"statfs", step_statfs},
    {"chmod", step_chmod},
    {"chown", step_chown},
    {"utimens", step_utimens},
    {"setxattr", step_setxattr},
    {"getxattr", step_getxattr},
    {"listxattr", step_listxattr},
    {"removexattr", step_removexattr},
    {NULL, NULL},
};
