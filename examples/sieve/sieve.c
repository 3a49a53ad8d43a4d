/* sieve [LIMIT]: counts the primes up to LIMIT (default 10000) and prints the last five. One work-item does all the work. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

int main(int argc, char **argv) {
  if (global_id() != 0) return 0;
  int limit = argc > 1 ? atoi(argv[1]) : 10000;
  if (limit < 2 || limit > 100000000) {
    fprintf(stderr, "sieve: LIMIT must be between 2 and 100000000\n");
    return 2;
  }
  unsigned char *composite = calloc((size_t)limit + 1, 1);
  if (composite == NULL) return 1;
  for (int p = 2; (int64_t)p * p <= limit; p++)
    if (!composite[p])
      for (int multiple = p * p; multiple <= limit; multiple += p) composite[multiple] = 1;

  int last[5], count = 0;
  for (int n = 2; n <= limit; n++)
    if (!composite[n]) last[count++ % 5] = n;
  printf("%d primes up to %d, the last ones:", count, limit);
  for (int i = count < 5 ? 0 : count - 5; i < count; i++) printf(" %d", last[i % 5]);
  putchar('\n');
  free(composite);
  return 0;
}
