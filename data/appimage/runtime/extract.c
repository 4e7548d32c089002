// Unpacks the image, for --appimage-extract and for machines without FUSE.
#define _GNU_SOURCE
#include "image.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <squashfuse/squashfuse.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// the library has it, but its installed headers don't
sqfs_err sqfs_stat(sqfs *fs, sqfs_inode *inode, struct stat *stat);

enum { BLOCK = 1 << 17, CHUNK = 64 * BLOCK, CHUNKS = 1 << 16, WORKERS = 4 };

/** What has a worker already, in the order in which all of them come by: a chunk of a file, or a link. */
static atomic_flag claimed[CHUNKS];

/** One worker of several: each goes through all names and takes what no other has taken. */
struct worker {
  const struct image *image;
  const char *directory, *only, *except;
  pthread_t thread;
  sqfs fs;
  int chunk;
  /** errno of what went wrong, or 0. */
  int fault;
  char buffer[BLOCK];
};

static int claim(struct worker *worker) {
  int chunk = worker->chunk++;
  // beyond 64 Ki, which no image of ours has, all write the same
  return chunk >= CHUNKS || !atomic_flag_test_and_set(&claimed[chunk]);
}

static int write_whole(int file, const char *bytes, size_t size, off_t at) {
  while (size > 0) {
    ssize_t done = pwrite(file, bytes, size, at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    bytes += done;
    at += done;
    size -= (size_t)done;
  }
  return 0;
}

static int extract_chunk(struct worker *worker, sqfs_inode *inode, int file, off_t at, off_t end) {
  while (at < end) {
    sqfs_off_t size = sizeof worker->buffer;
    errno = EIO; // the library sets none
    if (sqfs_read_range(&worker->fs, inode, at, &size, worker->buffer) || size <= 0) return -1;
    if (write_whole(file, worker->buffer, (size_t)size, at)) return -1;
    at += size;
  }
  return 0;
}

static int extract_file(struct worker *worker, sqfs_inode *inode, const struct stat *stat, const char *path) {
  int file = -1, failed = 0;
  off_t at = 0;
  do {
    off_t end = at + CHUNK < stat->st_size ? at + CHUNK : stat->st_size;
    if (claim(worker)) {
      // not through a link that stands there
      if (file < 0) file = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, stat->st_mode & 0755);
      if (file < 0) return -1;
      failed = (end == stat->st_size && ftruncate(file, end)) || extract_chunk(worker, inode, file, at, end);
    }
    at = end;
  } while (!failed && at < stat->st_size);
  return file >= 0 && close(file) ? -1 : failed ? -1 : 0;
}

static int extract_link(struct worker *worker, sqfs_inode *inode, const char *path) {
  char target[PATH_MAX];
  size_t size = sizeof target;
  if (!claim(worker)) return 0;
  errno = EIO;
  if (sqfs_readlink(&worker->fs, inode, target, &size)) return -1;
  unlink(path);
  return symlink(target, path);
}

/** Whether a path is another or lies below it. */
static int within(const char *path, const char *other) {
  size_t length = strlen(other);
  return !strncmp(path, other, length) && (path[length] == '/' || !path[length]);
}

static int wanted(const struct worker *worker, const char *path) {
  if (worker->except && within(path, worker->except)) return 0;
  return !worker->only || within(path, worker->only) || within(worker->only, path);
}

static int extract_entry(struct worker *worker, sqfs_traverse *at) {
  char path[PATH_MAX];
  sqfs_inode inode;
  struct stat stat;
  if (at->dir_end || !wanted(worker, at->path)) return 0;
  errno = ENAMETOOLONG;
  if (snprintf(path, sizeof path, "%s/%s", worker->directory, at->path) >= (int)sizeof path) return -1;
  errno = EIO;
  if (sqfs_inode_get(&worker->fs, &inode, sqfs_dentry_inode(&at->entry)) || sqfs_stat(&worker->fs, &inode, &stat)) return -1;
  if (S_ISDIR(stat.st_mode)) return mkdir(path, 0755) && errno != EEXIST ? -1 : 0;
  if (S_ISLNK(stat.st_mode)) return extract_link(worker, &inode, path);
  return S_ISREG(stat.st_mode) ? extract_file(worker, &inode, &stat, path) : 0;
}

static void *work(void *given) {
  struct worker *worker = given;
  sqfs_traverse at;
  sqfs_err fault = SQFS_OK;
  worker->fault = EIO;
  // the library reads from the offset that it is given
  if (sqfs_open_image(&worker->fs, worker->image->path, worker->image->offset)) return NULL;
  if (!sqfs_traverse_open(&at, &worker->fs, sqfs_inode_root(&worker->fs))) {
    worker->fault = 0;
    while (!worker->fault && sqfs_traverse_next(&at, &fault))
      if (extract_entry(worker, &at)) worker->fault = errno;
    if (fault) worker->fault = EIO;
    sqfs_traverse_close(&at);
  }
  sqfs_destroy(&worker->fs);
  return NULL;
}

int image_extract(const struct image *image, const char *directory, const char *only, const char *except) {
  static struct worker workers[WORKERS];
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  int started = 0;
  while (started < WORKERS && (started == 0 || started < processors)) {
    struct worker *worker = &workers[started];
    *worker = (struct worker){.image = image, .directory = directory, .only = only, .except = except};
    if (pthread_create(&worker->thread, NULL, work, worker)) break;
    started++;
  }
  if (!started) work(&workers[started++]);
  else
    for (int i = 0; i < started; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < started; i++)
    if ((errno = workers[i].fault)) return -1;
  return 0;
}
