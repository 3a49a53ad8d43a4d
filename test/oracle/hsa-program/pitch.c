/*
 * Memory with a pitch by HIP, copied to the stack: prints statuses, and how many bytes were right at each of some depths of the stack, whose
 * pages HIP locks. Declares what it needs of HIP, so that gcc alone builds it.
 */
#include <alloca.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int hipMallocPitch(void **, size_t *, size_t, size_t);
int hipMemset2D(void *, size_t, int, size_t, size_t);
int hipMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);

enum { WIDTH = 100, ROWS = 3, TO_HOST = 2, DEPTHS = 16, STEP = 256 };

static int right_bytes(const void *memory, size_t pitch) {
  uint8_t rows[ROWS][WIDTH] = {{0}};
  int right = 0, status = hipMemcpy2D(rows, WIDTH, memory, pitch, WIDTH, ROWS, TO_HOST);
  for (int i = 0; i < ROWS * WIDTH && status == 0; i++) right += rows[i / WIDTH][i % WIDTH] == 7;
  return right;
}

int main(void) {
  void *memory = NULL;
  size_t pitch = 0;
  int status = hipMallocPitch(&memory, &pitch, WIDTH, ROWS);
  if (status != 0) return printf("hipMallocPitch %d\n", status) < 0;
  printf("pitch %s, %d\n", pitch >= WIDTH ? "fits" : "is small", hipMemset2D(memory, pitch, 7, WIDTH, ROWS));
  for (int depth = 0; depth < DEPTHS; depth++) {
    memset(alloca(STEP), depth, STEP);
    printf(" %d", right_bytes(memory, pitch));
  }
  printf("\n");
  return 0;
}
