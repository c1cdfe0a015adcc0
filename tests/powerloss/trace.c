/* Loaded before libc: writes down, in order, every write, sync, truncation and removal below one folder.
 *
 * TRACE_BELOW is the folder, TRACE_INTO the file that takes the records. One record: a letter (W write, S sync,
 * T truncate, U unlink), the length of the path, offset, length of the data, the path, the data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct header {
    char what;
    uint32_t path_length;
    int64_t offset;
    int64_t length;
} __attribute__((packed));

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int into = -1;
static const char *below;
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void set_up(void)
{
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    below = getenv("TRACE_BELOW");
    if (below && getenv("TRACE_INTO"))
        into = open(getenv("TRACE_INTO"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Whether a descriptor is one of ours to follow, and under which path. */
static int followed(int descriptor, char path[PATH_MAX])
{
    char link[64];
    ssize_t length;

    if (into < 0 || descriptor == into)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return strncmp(path, below, strlen(below)) == 0;
}

static void put(const void *data, size_t length)
{
    while (length > 0) {
        ssize_t done = real_write(into, data, length);
        if (done <= 0)
            abort();
        data = (const char *)data + done;
        length -= (size_t)done;
    }
}

static void record(char what, const char *path, int64_t offset, const void *data, int64_t length)
{
    struct header header = {what, (uint32_t)strlen(path), offset, length};

    put(&header, sizeof header);
    put(path, header.path_length);
    if (data)
        put(data, (size_t)length);
}

ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t offset)
{
    char path[PATH_MAX];
    ssize_t done;

    if (!followed(descriptor, path))
        return real_pwrite(descriptor, data, length, offset);
    pthread_mutex_lock(&turn);
    done = real_pwrite(descriptor, data, length, offset);
    if (done > 0)
        record('W', path, offset, data, done);
    pthread_mutex_unlock(&turn);
    return done;
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset)
{
    return pwrite64(descriptor, data, length, offset);
}

ssize_t write(int descriptor, const void *data, size_t length)
{
    char path[PATH_MAX];
    ssize_t done;

    if (!followed(descriptor, path))
        return real_write(descriptor, data, length);
    pthread_mutex_lock(&turn);
    done = real_write(descriptor, data, length);
    if (done > 0)
        record('W', path, lseek(descriptor, 0, SEEK_CUR) - done, data, done);
    pthread_mutex_unlock(&turn);
    return done;
}

static int synced(int descriptor, int (*real)(int))
{
    char path[PATH_MAX];
    int answer;

    if (!followed(descriptor, path))
        return real(descriptor);
    pthread_mutex_lock(&turn);
    answer = real(descriptor);
    if (answer == 0)
        record('S', path, 0, NULL, 0);
    pthread_mutex_unlock(&turn);
    return answer;
}

int fsync(int descriptor)
{
    return synced(descriptor, real_fsync);
}

int fdatasync(int descriptor)
{
    return synced(descriptor, real_fdatasync);
}

int ftruncate64(int descriptor, off64_t length)
{
    char path[PATH_MAX];
    int answer;

    if (!followed(descriptor, path))
        return real_ftruncate(descriptor, length);
    pthread_mutex_lock(&turn);
    answer = real_ftruncate(descriptor, length);
    if (answer == 0)
        record('T', path, length, NULL, 0);
    pthread_mutex_unlock(&turn);
    return answer;
}

int ftruncate(int descriptor, off_t length)
{
    return ftruncate64(descriptor, length);
}

int unlink(const char *path)
{
    int answer;

    if (into < 0 || strncmp(path, below, strlen(below)) != 0)
        return real_unlink(path);
    pthread_mutex_lock(&turn);
    answer = real_unlink(path);
    if (answer == 0)
        record('U', path, 0, NULL, 0);
    pthread_mutex_unlock(&turn);
    return answer;
}
