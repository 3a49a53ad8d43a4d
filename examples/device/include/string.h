#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *memory, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *string);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t size);
char *strcpy(char *restrict to, const char *restrict from);
char *strchr(const char *string, int character);

#endif
