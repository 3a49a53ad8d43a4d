/* Says its number, then waits for a signal that nobody changes. */
#include <stdio.h>
#include <unistd.h>

#include "hsa-abi.h"

status_t hsa_init(void);
status_t hsa_signal_create(int64_t, uint32_t, const uint64_t *, uint64_t *);
int64_t hsa_signal_wait_scacquire(uint64_t, uint32_t, int64_t, uint64_t, uint32_t);

int main(void) {
  uint64_t signal;
  if (hsa_init() != SUCCESS || hsa_signal_create(1, 0, NULL, &signal) != SUCCESS) return 1;
  printf("%d\n", (int)getpid());
  fflush(stdout);
  hsa_signal_wait_scacquire(signal, CONDITION_EQ, 0, UINT64_MAX, WAIT_BLOCKED);
  return 0;
}
