// The head of the AppImage (type 2): mounts or unpacks what follows it in the file, and runs its AppRun.
// https://github.com/AppImage/AppImageSpec/blob/master/draft.md
#define _GNU_SOURCE
#include "image.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAILED = 127 };

/** What update tools look for; filled in with objcopy when the image is put together. */
__attribute__((section(".upd_info"), used)) static const char update_information[1024] = "";

// Only zstd is ever written into an image. liblzo2 is GPL, and the others are size.
int lzo1x_decompress_safe(void) { return -1; }
int LZ4_decompress_safe(void) { return -1; }
int lzma_stream_buffer_decode(void) { return 11; /* LZMA_PROG_ERROR */ }

static const char HELP[] =
    "Options of the AppImage itself; all others go to Culvert, see --help:\n"
    "  --appimage-extract [PATH]          unpack everything, or PATH, into squashfs-root\n"
    "  --appimage-extract-and-run [ARG…]  run from a temporary directory instead of a FUSE mount\n"
    "  --appimage-mount                   mount, print where, and unmount when ended\n"
    "  --appimage-offset                  print where the squashfs begins, in bytes\n"
    "  --appimage-updateinformation       print where updates come from\n"
    "  --appimage-version                 print the version of this runtime\n"
    "  --appimage-help                    print this\n"
    "\n"
    "Environment: APPIMAGE_EXTRACT_AND_RUN=1 as the option; TMPDIR for mount points and unpacked\n"
    "trees; TARGET_APPIMAGE names another AppImage to be used instead of this one.\n"
    "Without FUSE (the package fuse3) it unpacks on every start, which takes longer.\n";

static int fail(const char *format, ...) {
  int cause = errno;
  va_list words;
  va_start(words, format);
  fputs("AppImage: ", stderr);
  vfprintf(stderr, format, words);
  fprintf(stderr, ": %s\n", strerror(cause));
  va_end(words);
  return FAILED;
}

/** Finds the image, and in it the squashfs: after the ELF file, whose section table is its end. */
static int open_image(struct image *image) {
  const char *target = getenv("TARGET_APPIMAGE");
  const char *file = target && *target ? target : "/proc/self/exe";
  if (!realpath(file, image->path)) return -1;
  Elf64_Ehdr header;
  int opened = open(file, O_RDONLY | O_CLOEXEC);
  if (opened < 0) return -1;
  ssize_t size = read(opened, &header, sizeof header);
  close(opened);
  errno = ENOEXEC;
  if (size != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG)) return -1;
  image->offset = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
  unsetenv("TARGET_APPIMAGE"); // another AppImage that this one starts is itself
  return 0;
}

static int temporary_directory(char *directory, const char *name) {
  const char *base = getenv("TMPDIR");
  errno = ENAMETOOLONG;
  if (snprintf(directory, PATH_MAX, "%s/%s_XXXXXX", base && *base == '/' ? base : "/tmp", name) >= PATH_MAX) return -1;
  return mkdtemp(directory) ? 0 : -1;
}

static int run(const struct image *image, const char *directory, char **argv) {
  char program[PATH_MAX + 8], working[PATH_MAX];
  snprintf(program, sizeof program, "%s/AppRun", directory);
  setenv("APPDIR", directory, 1);
  setenv("APPIMAGE", image->path, 1);
  setenv("ARGV0", argv[0], 1);
  if (getcwd(working, sizeof working)) setenv("OWD", working, 1);
  execv(program, argv);
  return fail("%s can't be run; if that file system forbids it (noexec), set TMPDIR to another directory", program);
}

static int unpack(const struct image *image, const char *only) {
  if (mkdir("squashfs-root", 0755) && errno != EEXIST) return fail("squashfs-root can't be made");
  if (image_extract(image, "squashfs-root", only, NULL)) return fail("unpacking into squashfs-root failed");
  puts("squashfs-root");
  return 0;
}

static int run_unpacked(const struct image *image, char **argv) {
  char directory[PATH_MAX];
  if (temporary_directory(directory, "appimage_culvert")) return fail("no temporary directory for unpacking");
  if (remove_when_unused(directory)) return fail("no process to clean up");
  // license texts are half of the files, and making files is what takes the time
  if (image_extract(image, directory, NULL, "usr/share/doc")) return fail("unpacking into %s failed", directory);
  return run(image, directory, argv);
}

int main(int argc, char **argv) {
  struct image image;
  char directory[PATH_MAX];
  const char *option = argc > 1 && !strncmp(argv[1], "--appimage-", 11) ? argv[1] + 11 : "";
  if (!strcmp(option, "help")) return fputs(HELP, stdout) < 0;
  if (!strcmp(option, "version")) return puts("culvert AppImage runtime " VERSION ", type 2") < 0;
  if (!strcmp(option, "updateinformation") || !strcmp(option, "updateinfo")) {
    volatile const char *information = update_information; // the compiler must not know it empty
    return puts((const char *)information) < 0;
  }
  if (open_image(&image)) return fail("its own file can't be read");
  if (!strcmp(option, "offset")) return printf("%zu\n", image.offset) < 0;
  if (!strcmp(option, "extract")) return unpack(&image, argc > 2 ? argv[2] : NULL);
  const char *always = getenv("APPIMAGE_EXTRACT_AND_RUN");
  int unpacked = always && *always && strcmp(always, "0");
  if (!strcmp(option, "extract-and-run")) {
    unpacked = 1;
    argv[1] = argv[0];
    argv++;
  } else if (*option && strcmp(option, "mount")) {
    fprintf(stderr, "AppImage: there is no option --appimage-%s; see --appimage-help\n", option);
    return 2;
  }
  if (!unpacked) {
    if (temporary_directory(directory, ".mount_culver")) return fail("no temporary directory for a mount point");
    if (!image_mount(&image, directory)) {
      if (strcmp(option, "mount")) return run(&image, directory, argv);
      puts(directory);
      fflush(stdout);
      pause();
      return 0;
    }
    rmdir(directory);
    if (!strcmp(option, "mount")) {
      fputs("AppImage: mounting needs FUSE (the package fuse3, and access to /dev/fuse)\n", stderr);
      return FAILED;
    }
    fputs("AppImage: no FUSE here, unpacking to a temporary directory instead\n", stderr);
  }
  return run_unpacked(&image, argv);
}
