/*
 * divergence: conversations with the loader from lanes that have gone different ways: strings of different lengths, streams,
 * formats, memory of each lane's own, loops of different lengths, calls through different pointers. Every line is written at
 * once, so that the set of lines depends on the number of work-items only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

static uint32_t twice(uint32_t x) { return 2 * x; }
static uint32_t square(uint32_t x) { return x * x; }
static uint32_t collatz(uint32_t x) {
  uint32_t steps = 0;
  for (; x > 1; steps++) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
  return steps;
}
static uint32_t (*const functions[])(uint32_t) = {twice, square, collatz};

int main(void) {
  uint32_t self = global_id();

  /* A string of each lane's own length, over several packets for some lanes. */
  uint32_t length = 4 * (self % 40);
  char *text = malloc(length + 1);
  if (text == NULL) return 1;
  for (uint32_t i = 0; i < length; i++) text[i] = (char)('a' + (self + i) % 26);
  text[length] = 0;
  puts(text);

  /* Several strings in one format, different formats in one call, nested branches. */
  if (self % 2 == 0) {
    printf("even %u: [%s] [%s]\n", self, text, self % 4 == 0 ? "a multiple of four" : "");
    if (self % 3 == 0) printf("and a multiple of six: %5u|%-5u|%05u\n", self, self, self);
  } else {
    printf(self % 3 == 0 ? "odd, multiple of three: %u\n" : "odd: %u %c\n", self, 'A' + (char)(self % 26));
  }

  /* Different streams in one call. */
  fputs(self % 5 == 0 ? "(to stdout)\n" : "(to stderr)\n", self % 5 == 0 ? stdout : stderr);

  /* Indirect calls that differ between the lanes, loops that end at different times. */
  uint32_t value = functions[self % 3](self + 7);
  for (uint32_t i = 0; i < self % 4; i++) printf("lane %u, turn %u of %u: %u\n", self, i + 1, self % 4, value + i);
  free(text);
  return 0;
}
