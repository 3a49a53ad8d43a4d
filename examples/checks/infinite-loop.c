/* infinite-loop: waits for a value that nobody writes; only a time limit ends it. */
#include "gpu.h"

static uint32_t never;

int main(void) {
  while (atomic_load(&never) == 0) {
  }
  return 0;
}
