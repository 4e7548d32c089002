// Keeps a mounted or unpacked image for as long as somebody runs from it. An inherited descriptor alone does not tell:
// Node and GLib close theirs in what they start.
#define _GNU_SOURCE
#include "image.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { AT_ONCE = 64 };

static int uses(const char *pid, const char *directory) {
  char name[64], text[8192];
  size_t length = strlen(directory);
  snprintf(name, sizeof name, "/proc/%s/exe", pid);
  ssize_t size = readlink(name, text, sizeof text - 1);
  if (size > (ssize_t)length && !memcmp(text, directory, length) && text[length] == '/') return 1;
  // a script's interpreter lies elsewhere, but the script is one of its arguments
  snprintf(name, sizeof name, "/proc/%s/cmdline", pid);
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  size = read(file, text, sizeof text);
  close(file);
  return size > 0 && memmem(text, (size_t)size, directory, length) != NULL;
}

static void wait_for_processes(const char *directory) {
  for (;;) {
    struct pollfd held[AT_ONCE];
    nfds_t count = 0;
    int blind = 0;
    DIR *processes = opendir("/proc");
    if (!processes) return;
    for (struct dirent *entry; count < AT_ONCE && (entry = readdir(processes));) {
      long pid = strtol(entry->d_name, NULL, 10);
      if (pid <= 1 || pid == getpid() || !uses(entry->d_name, directory)) continue;
      int handle = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
      if (handle < 0) blind = 1; // Linux before 5.3, or gone just now
      else held[count++] = (struct pollfd){.fd = handle, .events = POLLIN};
    }
    closedir(processes);
    if (!count && !blind) return;
    if (count) poll(held, 1, -1);
    else sleep(1);
    for (nfds_t i = 0; i < count; i++) close(held[i].fd);
  }
}

void wait_until_unused(int hold, const char *directory) {
  char byte;
  while (read(hold, &byte, 1) < 0 && errno == EINTR) {}
  wait_for_processes(directory);
}

void detach(int keep, int keep_too) {
  setsid();
  signal(SIGPIPE, SIG_IGN);
  for (int file = 3; file < 1024; file++)
    if (file != keep && file != keep_too) close(file);
  int null = open("/dev/null", O_RDWR);
  for (int stream = 0; stream <= 2; stream++) dup2(null, stream);
  if (null > 2) close(null);
}

int remove_when_unused(const char *directory) {
  int hold[2];
  if (pipe(hold)) return -1;
  pid_t keeper = fork();
  if (keeper < 0) return -1;
  if (!keeper) {
    detach(hold[0], hold[0]);
    wait_until_unused(hold[0], directory);
    remove_tree(directory);
    _exit(0);
  }
  close(hold[0]);
  return 0;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk) {
  (void)stat, (void)type, (void)walk;
  return remove(path);
}

void remove_tree(const char *directory) { nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
