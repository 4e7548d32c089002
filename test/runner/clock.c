// Moves the clock of every program that loads it by the seconds in the file beside it in /etc: test/runner/setting.sh puts both there.
// libfaketime is not enough: it keeps descriptors, variables and semaphores in each program, which tests of descriptors, variables and
// other users find; it moves the monotonic clock as well; and programs with jemalloc, such as Redis, never start with it.
// The times of files, timers and waits for a time of day stay the kernel's.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long seconds;
static int is_known;

// no function of the C library that could ask for the time, or for memory, before the program begins
static long offset(void) {
  if (is_known) return seconds;
  char text[32] = "";
  int file = syscall(SYS_openat, AT_FDCWD, "/etc/culvert-test-clock", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (syscall(SYS_read, file, text, sizeof text - 1) > 0) seconds = atol(text);
    syscall(SYS_close, file);
  }
  is_known = 1;
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  int is_moved = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  if (result == 0 && is_moved) now->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec time;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  *now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *now) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  if (now) *now = time.tv_sec;
  return time.tv_sec;
}

int timespec_get(struct timespec *now, int base) { return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0; }
