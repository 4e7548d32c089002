// Serves the image through FUSE from a separate process.
#define _GNU_SOURCE
#define FUSE_USE_VERSION 32
#include "image.h"
#include <errno.h>
#include <fcntl.h> // pipe2
#include <pthread.h>
#include <squashfuse/squashfuse.h>
#include <squashfuse/ll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/** What is read at the same time: a start reads its libraries on all processors. */
enum { READERS = 4 };

static sqfs_ll_chan channel;
static int holding[2];
/** The library's caches are for one thread: names are looked up under a lock, data is read by several readers. */
static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER;
static struct reader {
  pthread_mutex_t busy;
  sqfs fs;
} readers[READERS];

#define ONE_AT_A_TIME(operation, parameters, arguments) \
  static void on_##operation parameters {               \
    pthread_mutex_lock(&names);                         \
    sqfs_ll_op_##operation arguments;                   \
    pthread_mutex_unlock(&names);                       \
  }

ONE_AT_A_TIME(getattr, (fuse_req_t r, fuse_ino_t i, struct fuse_file_info *f), (r, i, f))
ONE_AT_A_TIME(lookup, (fuse_req_t r, fuse_ino_t i, const char *n), (r, i, n))
ONE_AT_A_TIME(forget, (fuse_req_t r, fuse_ino_t i, unsigned long n), (r, i, n))
ONE_AT_A_TIME(open, (fuse_req_t r, fuse_ino_t i, struct fuse_file_info *f), (r, i, f))
ONE_AT_A_TIME(opendir, (fuse_req_t r, fuse_ino_t i, struct fuse_file_info *f), (r, i, f))
ONE_AT_A_TIME(readdir, (fuse_req_t r, fuse_ino_t i, size_t n, off_t o, struct fuse_file_info *f), (r, i, n, o, f))
ONE_AT_A_TIME(readlink, (fuse_req_t r, fuse_ino_t i), (r, i))
ONE_AT_A_TIME(listxattr, (fuse_req_t r, fuse_ino_t i, size_t n), (r, i, n))
ONE_AT_A_TIME(getxattr, (fuse_req_t r, fuse_ino_t i, const char *n, size_t s), (r, i, n, s))

/** As the library's own, whose handle is the inode, but from the first reader that is free. */
static void on_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t at, struct fuse_file_info *file) {
  (void)number;
  char *buffer = malloc(size);
  if (!buffer) {
    fuse_reply_err(request, ENOMEM);
    return;
  }
  struct reader *reader = NULL;
  for (int i = 0; i < READERS && !reader; i++)
    if (!pthread_mutex_trylock(&readers[i].busy)) reader = &readers[i];
  if (!reader) {
    reader = &readers[at / (1 << 17) % READERS];
    pthread_mutex_lock(&reader->busy);
  }
  sqfs_off_t got = (sqfs_off_t)size;
  sqfs_err fault = sqfs_read_range(&reader->fs, (sqfs_inode *)(intptr_t)file->fh, at, &got, buffer);
  pthread_mutex_unlock(&reader->busy);
  if (fault) fuse_reply_err(request, EIO);
  else fuse_reply_buf(request, buffer, (size_t)got);
  free(buffer);
}

static void *unmount_when_unused(void *directory) {
  wait_until_unused(holding[0], directory);
  sqfs_ll_unmount(&channel, directory);
  rmdir(directory);
  _exit(0);
}

static int serve(const struct image *image, const char *directory, int ready) {
  struct fuse_lowlevel_ops operations = {
      .getattr = on_getattr,
      .opendir = on_opendir,
      .releasedir = sqfs_ll_op_releasedir,
      .readdir = on_readdir,
      .lookup = on_lookup,
      .open = on_open,
      .create = sqfs_ll_op_create,
      .release = sqfs_ll_op_release,
      .read = on_read,
      .readlink = on_readlink,
      .listxattr = on_listxattr,
      .getxattr = on_getxattr,
      .forget = on_forget,
      .statfs = stfs_ll_op_statfs,
  };
  char *words[] = {"AppImage", "-o", "ro,nodev,nosuid,fsname=AppImage,subtype=squashfuse", NULL};
  struct fuse_args arguments = FUSE_ARGS_INIT(3, words);
  pthread_t watcher;
  sqfs_ll *opened = sqfs_ll_open(image->path, image->offset);
  if (!opened) return -1;
  for (int i = 0; i < READERS; i++) {
    pthread_mutex_init(&readers[i].busy, NULL);
    if (sqfs_open_image(&readers[i].fs, image->path, image->offset)) return -1;
  }
  if (sqfs_ll_mount(&channel, directory, &arguments, &operations, sizeof operations, opened)) return -1;
  if (pthread_create(&watcher, NULL, unmount_when_unused, (void *)directory) || write(ready, "", 1) != 1) {
    sqfs_ll_unmount(&channel, directory);
    return -1;
  }
  close(ready);
  struct fuse_loop_config threads = {.max_idle_threads = READERS};
  fuse_session_loop_mt(channel.session, &threads); // until the watcher unmounts, or somebody else did
  rmdir(directory);
  return 0;
}

int image_mount(const struct image *image, const char *directory) {
  int ready[2];
  char byte;
  if (pipe2(ready, O_CLOEXEC)) return -1;
  if (pipe(holding)) return -1;
  pid_t server = fork();
  if (server < 0) return -1;
  if (!server) {
    detach(holding[0], ready[1]);
    _exit(serve(image, directory, ready[1]) ? 1 : 0);
  }
  close(holding[0]);
  close(ready[1]);
  ssize_t answer;
  while ((answer = read(ready[0], &byte, 1)) < 0 && errno == EINTR) {}
  close(ready[0]);
  if (answer == 1) return 0;
  close(holding[1]);
  waitpid(server, NULL, 0);
  return -1;
}
