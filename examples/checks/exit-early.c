/* exit-early [STATUS]: leaves the program from inside a function call, with work-items still to come; the destructor runs. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

__attribute__((destructor)) static void say_goodbye(void) { puts("goodbye"); }

static __attribute__((noinline)) void leave(int status) {
  printf("leaving with %d\n", status);
  exit(status);
}

int main(int argc, char **argv) {
  if (global_id() == 0) leave(argc > 1 ? atoi(argv[1]) : 3);
  return 1;
}
