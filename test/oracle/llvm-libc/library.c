/* What the C library does by itself: strings, numbers, sorting, memory, and formatting into memory. Prints one line for each part. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void goodbye(void) { puts("atexit"); }

int main(int argc, char **argv, char **envp) {
  atexit(goodbye);
  printf("arguments: %d %s %s\n", argc, argv[1], envp[0]);

  int numbers[100], sorted = 1;
  for (int i = 0; i < 100; i++) numbers[i] = i * 37 % 101;
  qsort(numbers, 100, sizeof *numbers, ascending);
  for (int i = 1; i < 100; i++) sorted &= numbers[i - 1] < numbers[i];
  printf("sorted: %d, %d to %d\n", sorted, numbers[0], numbers[99]);

  char *end;
  long number = strtol("  -7fz", &end, 16);
  printf("numbers: %ld %s %d %lld %.3f\n", number, end, atoi("42"), llabs(-1LL * (1LL << 40)), strtod("-2.5e3", 0));

  char text[64];
  strcpy(text, "a,b;c");
  strcat(text, "!");
  printf("strings: %zu %d %s %s %d\n", strlen(text), strcmp(text, "a,b") > 0, strchr(text, ';'), strstr(text, "b;"),
         memcmp(text, "a,b", 3));
  for (char *c = text; *c; c++) *c = (char)toupper(*c);
  printf("upper: %s %d\n", text, isdigit('7') != 0);

  char *memory = malloc(100000);
  memset(memory, 7, 100000);
  memmove(memory + 1, memory, 99999);
  printf("memory: %d %d\n", memory != 0, memory[99999]);
  free(memory);

  printf("math: %.6f %.6f %.1f\n", sqrt(2.0), (double)sqrtf(2.0f), floor(-1.5));
  printf("formats: [%5d|%-5d|%05d|%+d|%x|%#o|%c|%10.3s|%%|%lu]\n", 42, 42, 42, 42, 255u, 8u, 'z', "abcdef", ~0ul);
  return argc == 2 ? 3 : 1;
}
