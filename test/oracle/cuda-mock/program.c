/* A program whose first argument says what it does. The names of its constructors are in the PTX of the test. */
#include "gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int order;
__attribute__((used, visibility("default"))) void first(void) { printf("first %d\n", ++order); }
__attribute__((used, visibility("default"))) void second(void) { printf("second %d\n", ++order); }
__attribute__((used, visibility("default"))) void last(void) { printf("last %d\n", ++order); }

int main(int argc, char **argv, char **envp) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "memory") == 0) {
    char *text = malloc(100);
    memset(text, 'x', 99);
    text[99] = 0;
    printf("%s %d %s\n", text + 96, argc, envp[0]);
    free(text);
    for (int i = 0; i < 20; i++) free(malloc(1000));
  }
  if (strcmp(what, "exit") == 0 && thread_id() == 0) exit(5);
  if (strcmp(what, "abort") == 0) abort();
  if (strcmp(what, "barrier") == 0) {
    static int together;
    atomic_add(&together, 1);
    workgroup_barrier();
    return atomic_load(&together);
  }
  for (int i = 0; strcmp(what, "nap") == 0 && i < 2000; i++) wave_pause();
  while (strcmp(what, "spin") == 0 || (strcmp(what, "exit") == 0 && argc > 2)) wave_pause();
  return strcmp(what, "status") == 0 ? 1 << thread_id() : 0;
}
