/* Streams and files: every work-item has a file of its own. Prints nothing unless something is wrong; the status says where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) do if (!(condition)) return __LINE__; while (0)

static int check(const char *name) {
  FILE *file = fopen(name, "w");
  CHECK(file);
  CHECK(fwrite("first\nsecond\n", 1, 13, file) == 13);
  CHECK(fprintf(file, "%s %d\n", name, 7) == (int)strlen(name) + 3);
  CHECK(fclose(file) == 0);

  file = fopen(name, "r");
  CHECK(file);
  char line[80];
  CHECK(fgets(line, sizeof line, file) == line && strcmp(line, "first\n") == 0);
  CHECK(fgetc(file) == 's' && ungetc('S', file) == 'S');
  CHECK(fgets(line, sizeof line, file) == line && strcmp(line, "Second\n") == 0);
  CHECK(fseek(file, 1, SEEK_SET) == 0);
  CHECK(fread(line, 1, 4, file) == 4 && memcmp(line, "irst", 4) == 0);
  while (fgets(line, sizeof line, file));
  CHECK(feof(file) && !ferror(file));
  clearerr(file);
  CHECK(!feof(file));
  CHECK(fclose(file) == 0);

  CHECK(remove(name) == 0);
  CHECK(fopen(name, "r") == NULL);
  return 0;
}

int main(int argc, char **argv, char **envp) {
  (void)argc, (void)argv, (void)envp;
  char name[] = "file-00-000";
  unsigned block = __builtin_amdgcn_workgroup_id_x(), thread = __builtin_amdgcn_workitem_id_x();
  name[5] += block / 10, name[6] += block % 10;
  name[8] += thread / 100, name[9] += thread / 10 % 10, name[10] += thread % 10;
  int line = check(name);
  if (line) fprintf(stderr, "%s: line %d\n", name, line);
  return line != 0;
}
