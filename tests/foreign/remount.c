/*
 * Preloaded into a program that unmounts and mounts the file system under test by itself (integck): passes the wish to
 * the test that serves it, by a socket, a line each, and answers with the error number that comes back. Read-only is what
 * the kernel above makes of the mount: the simulated file system stays writable. The type of the file system is told as
 * that of the simulated one.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int ask(const char *wish)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char answer[16] = "";
	const char *path = getenv("FFSLAB_TEST_SOCKET");
	int line = socket(AF_UNIX, SOCK_STREAM, 0);

	if (!path || strlen(path) >= sizeof(address.sun_path) || line < 0)
		abort();
	strcpy(address.sun_path, path);
	if (connect(line, (struct sockaddr *)&address, sizeof(address)) || write(line, wish, strlen(wish)) < 0
	    || read(line, answer, sizeof(answer) - 1) <= 0)
		abort();
	close(line);
	errno = atoi(answer);
	return errno ? -1 : 0;
}

int umount(const char *target)
{
	(void)target;
	return ask("umount\n");
}

int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)
{
	(void)type;
	(void)data;
	if (!(flags & MS_REMOUNT) && ask("mount\n"))
		return -1;
	if (!(flags & (MS_REMOUNT | MS_RDONLY)))
		return 0;
	return syscall(SYS_mount, source, target, "fuse", MS_REMOUNT | (flags & MS_RDONLY), NULL);
}

/* A board without power answers close(2) with EIO here. No file system of Linux does, so integck does not expect it. */
int close(int file)
{
	return syscall(SYS_close, file) && errno != EIO ? -1 : 0;
}

/* YAFFS2 says that a directory has one link. integck is told what others say, so that all else is tested. */
int stat(const char *restrict path, struct stat *restrict found)
{
	int result = fstatat(AT_FDCWD, path, found, 0);
	struct dirent *entry;
	DIR *folder;

	if (result || !S_ISDIR(found->st_mode) || strcmp(getenv("FFSLAB_TEST_FS"), "yaffs2"))
		return result;
	folder = opendir(path);
	if (!folder)
		return -1;
	found->st_nlink = 0;
	while ((entry = readdir(folder)))
		found->st_nlink += entry->d_type == DT_DIR;
	return closedir(folder);
}

struct mntent *getmntent(FILE *file)
{
	struct mntent *(*next)(FILE *) = dlsym(RTLD_NEXT, "getmntent");
	struct mntent *entry = next(file);

	if (entry && !strcmp(entry->mnt_fsname, "ffslab"))
		entry->mnt_type = getenv("FFSLAB_TEST_FS");
	return entry;
}
