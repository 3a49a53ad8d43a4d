/* null-dereference: the work-item with the highest number reads through a null pointer, which is a memory fault. */
#include <stdio.h>

#include "gpu.h"

static int *volatile nowhere = NULL;

int main(void) {
  if (global_id() != global_size() - 1) return 0;
  puts("before the fault");
  printf("not reached: %d\n", *nowhere);
  return 0;
}
