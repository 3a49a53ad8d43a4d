/* Input and output of a GPU program: every call is a conversation with the loader; nothing is buffered on the device. */
#ifndef STDIO_H
#define STDIO_H

#include <stdarg.h>
#include <stddef.h>

#define EOF (-1)

/* A host stream's handle (a multiple of 4), or one of the three standard streams. */
typedef struct FILE FILE;
#define stdin ((FILE *)1)
#define stdout ((FILE *)2)
#define stderr ((FILE *)3)

int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fprintf(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
int vprintf(const char *format, va_list arguments);
int vfprintf(FILE *stream, const char *format, va_list arguments);
int putchar(int character);
int puts(const char *string);
int fputc(int character, FILE *stream);
int fputs(const char *string, FILE *stream);
size_t fwrite(const void *data, size_t size, size_t count, FILE *stream);

FILE *fopen(const char *path, const char *mode);
int fclose(FILE *stream);
int fflush(FILE *stream);
size_t fread(void *data, size_t size, size_t count, FILE *stream);
char *fgets(char *line, int capacity, FILE *stream);

#endif
