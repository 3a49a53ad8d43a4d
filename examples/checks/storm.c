/* storm [ROUNDS]: every work-item allocates, fills, checks and frees memory, ROUNDS times, all at once. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 4;
  uint32_t id = global_id();
  for (int round = 0; round < rounds; round++) {
    uint32_t count = 1 + (id * 7 + (uint32_t)round) % 16;
    uint32_t *memory = malloc(count * sizeof *memory);
    if (memory == NULL) {
      puts("no memory");
      return 1;
    }
    for (uint32_t i = 0; i < count; i++) memory[i] = id ^ i;
    for (uint32_t i = 0; i < count; i++) {
      if (memory[i] != (id ^ i)) {
        puts("somebody else wrote here");
        return 2;
      }
    }
    free(memory);
  }
  return 0;
}
