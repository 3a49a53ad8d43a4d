/* What the torture tests use of the C library beyond what the examples' runtime has. */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

char *strcat(char *restrict to, const char *restrict from) {
  strcpy(to + strlen(to), from);
  return to;
}

char *strncpy(char *restrict to, const char *restrict from, size_t size) {
  size_t i = 0;
  for (; i < size && from[i] != 0; i++) to[i] = from[i];
  for (; i < size; i++) to[i] = 0;
  return to;
}

char *strrchr(const char *string, int character) {
  const char *found = NULL;
  for (;; string++) {
    if (*string == (char)character) found = string;
    if (*string == 0) return (char *)found;
  }
}

void *memchr(const void *memory, int byte, size_t size) {
  const unsigned char *bytes = memory;
  for (size_t i = 0; i < size; i++)
    if (bytes[i] == (unsigned char)byte) return (void *)(bytes + i);
  return NULL;
}

long labs(long value) { return value < 0 ? -value : value; }
long long llabs(long long value) { return value < 0 ? -value : value; }
