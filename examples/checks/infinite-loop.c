/* infinite-loop: waits for a value that nobody writes; only a time limit ends it. */
#include "gpu.h"

volatile uint32_t never;

int main(void) {
  while (never == 0) {
  }
  return 0;
}
