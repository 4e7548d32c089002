// What the parts of the AppImage runtime share: where the file system lies, and how a tree of it is used and left.
#pragma once
#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

/** The AppImage: this program itself, or what TARGET_APPIMAGE names. */
struct image {
  char path[PATH_MAX];
  /** Of the squashfs, which follows the ELF file. */
  size_t offset;
};

/**
 * Unpacks everything into an existing directory, or only what lies at or below a path, or all but that. Both paths may
 * be NULL. 0, or -1 with errno.
 */
int image_extract(const struct image *image, const char *directory, const char *only, const char *except);

/**
 * Mounts at an empty directory and answers from a separate process, until the directory is unused (see below). This
 * process then holds it. Returns 0 once mounted, -1 where there is no FUSE.
 */
int image_mount(const struct image *image, const char *directory);

/**
 * Starts a process that deletes an unpacked tree once it is unused. This process then holds it. 0, or -1 with errno.
 */
int remove_when_unused(const char *directory);

/**
 * Waits until a directory is unused: everyone has closed the other end of the pipe `hold`, which what is executed next
 * inherits, and no process of this user runs from the directory, by its executable or by an argument.
 */
void wait_until_unused(int hold, const char *directory);

/** Closes all but two descriptors and leaves the terminal: nobody who waits for the end of a pipe waits for us. */
void detach(int keep, int keep_too);

/** Deletes a directory with all that is in it. */
void remove_tree(const char *directory);
