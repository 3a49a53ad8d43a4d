/* What the protocol (baseline.c) asks of a baseline: prepare a launch once, run it many times, show a buffer. */
#ifndef BASELINE_H
#define BASELINE_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_ARGUMENTS = 8, MAX_NAME = 63 };

struct argument {
  /* NULL: a 32-bit integer. */
  void *buffer;
  size_t size;
  int32_t value;
};

struct launch {
  char kernel[MAX_NAME + 1];
  int dimensions;
  /* Work-items, not groups. */
  size_t grid[3], workgroup[3];
  int argument_count;
  struct argument arguments[MAX_ARGUMENTS];
};

/* NULL, or why this baseline cannot run it. The launch stays valid until the next call. */
const char *baseline_prepare(const struct launch *launch);
/* Runs it to its end. */
void baseline_run(void);
/* Makes the contents of a buffer argument visible in the launch. */
void baseline_read(int argument);

#endif
