/* Names of C++ in what is said of faults: the program, where it is of C++, has the function that makes them readable. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

OF_FIRST_GLIBC(dlsym)
#pragma weak dlsym

typedef char *(*demangle_t)(const char *name, char *into, size_t *size_bytes, int *status);

static bool is_of_name(char letter) { return isalnum((unsigned char)letter) || letter == '_' || letter == '.' || letter == '$'; }

/* Returns whether it printed the name. */
static bool print_name(demangle_t demangle, const char *name, size_t length) {
  char *copy = strndup(name, length);
  int status = 0;
  char *readable = copy == NULL ? NULL : demangle(copy, NULL, NULL, &status);
  if (readable != NULL) fputs(readable, stderr);
  free(readable);
  free(copy);
  return readable != NULL;
}

void print_demangled(const char *text, size_t size_bytes) {
  demangle_t demangle = NULL;
  if (dlsym != NULL) *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
  for (size_t at = 0; at < size_bytes;) {
    size_t end = at;
    while (end < size_bytes && is_of_name(text[end])) end++;
    bool is_mangled = demangle != NULL && end - at > 2 && memcmp(text + at, "_Z", 2) == 0;
    if (end == at) end++;
    if (!is_mangled || !print_name(demangle, text + at, end - at)) fwrite(text + at, 1, end - at, stderr);
    at = end;
  }
  fputc('\n', stderr);
}
