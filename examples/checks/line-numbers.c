/* line-numbers: copies the standard input to the standard output with a number before each line, through small fgets calls. */
#include <stdio.h>
#include <string.h>

#include "gpu.h"

int main(void) {
  if (global_id() != 0) return 0;
  char part[80];
  bool at_start = true;
  int line = 0;
  while (fgets(part, sizeof part, stdin) != NULL) {
    if (at_start) printf("%6d  ", ++line);
    fputs(part, stdout);
    at_start = strchr(part, '\n') != NULL;
  }
  fprintf(stderr, "%d lines\n", line);
  return 0;
}
