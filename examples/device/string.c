#include <string.h>

/* The compiler expands these built-ins in place on AMDGPU, there is no library call that could recurse. */
void *memcpy(void *restrict to, const void *restrict from, size_t size) { return __builtin_memcpy(to, from, size); }

void *memmove(void *to, const void *from, size_t size) { return __builtin_memmove(to, from, size); }

void *memset(void *memory, int byte, size_t size) { return __builtin_memset(memory, byte, size); }

int memcmp(const void *a, const void *b, size_t size) {
  const unsigned char *left = a, *right = b;
  for (size_t i = 0; i < size; i++)
    if (left[i] != right[i]) return left[i] - right[i];
  return 0;
}

size_t strlen(const char *string) {
  size_t length = 0;
  while (string[length] != 0) length++;
  return length;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, (size_t)-1); }

int strncmp(const char *a, const char *b, size_t size) {
  for (size_t i = 0; i < size; i++) {
    unsigned char left = (unsigned char)a[i], right = (unsigned char)b[i];
    if (left != right || left == 0) return left - right;
  }
  return 0;
}

char *strcpy(char *restrict to, const char *restrict from) { return memcpy(to, from, strlen(from) + 1); }

char *strchr(const char *string, int character) {
  for (;; string++) {
    if (*string == (char)character) return (char *)string;
    if (*string == 0) return NULL;
  }
}
