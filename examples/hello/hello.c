/* hello [NAME]: every work-item of the launch greets. */
#include <stdio.h>

#include "gpu.h"

int main(int argc, char **argv) {
  printf("Hello, %s, from lane %u of %u (argc=%d)\n", argc > 1 ? argv[1] : "world", global_id(), global_size(), argc);
  return 0;
}
