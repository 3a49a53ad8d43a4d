/* What the protocol (baseline.c) asks of a baseline: prepare a plan once, run it many times, show a buffer. */
#ifndef BASELINE_H
#define BASELINE_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_ARGUMENTS = 12, MAX_BUFFERS = 12, MAX_NAME = 63 };

struct buffer {
  void *data;
  size_t size;
  /* What it begins every run with; NULL where a run begins with what the one before left. */
  void *contents;
};

struct argument {
  /* NULL: a number. */
  void *buffer;
  /* The number of the buffer in its plan. */
  int index;
  /* Bytes of the buffer or of the number. */
  size_t size;
  /* A number of 32 bits, or the first half of one of 64. */
  int32_t value;
  uint8_t bytes[8];
};

struct launch {
  char kernel[MAX_NAME + 1];
  int dimensions;
  /* Work-items, not groups. */
  size_t grid[3], workgroup[3];
  int argument_count;
  struct argument arguments[MAX_ARGUMENTS];
};

/* Launches of kernels of one source, in order. */
struct plan {
  /* Its path from the root of the repository. */
  char source[256];
  int buffer_count, launch_count;
  struct buffer buffers[MAX_BUFFERS];
  struct launch *launches;
};

/* NULL, or why this baseline cannot run it. The plan stays valid until the next call. */
const char *baseline_prepare(const struct plan *plan);
/* Gives a buffer its contents before a run. */
void baseline_restore(int buffer);
/* Runs all launches to their end. */
void baseline_run(void);
/* Makes the contents of a buffer visible in the plan. */
void baseline_read(int buffer);

#endif
