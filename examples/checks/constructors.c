/* constructors: functions of .init_array run before main in the order of their priorities, those of .fini_array after it. */
#include <stdio.h>

#include "gpu.h"

static int order;

__attribute__((constructor(201))) static void second(void) { printf("constructor 201: %d\n", ++order); }
__attribute__((constructor(101))) static void first(void) { printf("constructor 101: %d\n", ++order); }
__attribute__((constructor)) static void third(void) { printf("constructor: %d\n", ++order); }
__attribute__((destructor(101))) static void last(void) { printf("destructor 101: %d\n", ++order); }
__attribute__((destructor)) static void next_to_last(void) { printf("destructor: %d\n", ++order); }

int main(void) {
  if (global_id() == 0) printf("main: %d\n", ++order);
  return 0;
}
