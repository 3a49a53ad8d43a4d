/* What a driver finds in PTX and in cubins: kernels with their parameters, variables. Nothing is compiled. */
#include "cuda-mock.h"
#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *after(const char *text, const char *word) {
  const char *found = strstr(text, word);
  return found == NULL ? NULL : found + strlen(word);
}

static void copy_name(char *to, const char *from) {
  size_t n = 0;
  while (n < NAME_BYTES - 1 && (isalnum((unsigned char)from[n]) || strchr("_$%.", from[n]) != NULL) && from[n] != 0) n++;
  memcpy(to, from, n);
  to[n] = 0;
}

/* Bytes of `.u32`, `.f64`, `.b8`; 0 for what is no type. */
static uint32_t type_size(const char *word) {
  if (word[0] != '.' || strchr("busf", word[1]) == NULL) return 0;
  return (uint32_t)atoi(word + 2) / 8;
}

/* `.align 8 .b8 name[24]`: the size and alignment of all of it. */
static const char *read_variable(char *statement, char *name, uint32_t *size, uint32_t *alignment) {
  uint32_t element = 0, asked = 0, count = 1;
  char *word = statement;
  while (*word != 0) {
    while (isspace((unsigned char)*word)) word++;
    if (strncmp(word, ".align", 6) == 0) asked = (uint32_t)atoi(word + 6);
    if (*word != '.' && !isdigit((unsigned char)*word)) break;
    if (type_size(word) > 0) element = type_size(word);
    while (*word != 0 && !isspace((unsigned char)*word)) word++;
  }
  copy_name(name, word);
  for (const char *bracket = strchr(word, '['); bracket != NULL; bracket = strchr(bracket + 1, '[')) count *= (uint32_t)atoi(bracket + 1);
  *size = element * count;
  *alignment = asked > 0 ? asked : element;
  return word + strlen(name);
}

static void add_kernel(module_t *module, char *statement) {
  function_t *function = &module->functions[module->functions_count++];
  const char *name = after(statement, ".entry");
  while (isspace((unsigned char)*name)) name++;
  copy_name(function->name, name);
  char *open = strchr(statement, '('), *close = open == NULL ? NULL : strrchr(open, ')');
  if (close == NULL) return;
  *close = 0;
  for (char *rest = open + 1, *each = strtok_r(rest, ",", &rest); each != NULL; each = strtok_r(NULL, ",", &rest)) {
    if (strstr(each, ".param") == NULL || function->count == MAX_PARAMETERS) continue;
    char ignored[NAME_BYTES];
    uint32_t size, alignment;
    read_variable(each, ignored, &size, &alignment);
    uint32_t offset = (function->total + alignment - 1) / alignment * alignment;
    function->offset[function->count] = offset;
    function->size[function->count++] = size;
    function->total = offset + size;
  }
}

static void add_variable(module_t *module, char *statement) {
  variable_t *variable = &module->variables[module->variables_count++];
  uint32_t size, alignment;
  char *value = strchr(statement, '=');
  if (value != NULL) {
    *value++ = 0;
    while (isspace((unsigned char)*value)) value++;
    copy_name(variable->initial, value);
  }
  read_variable(statement, variable->name, &size, &alignment);
  variable->size = size;
}

static void strip_comments(char *text) {
  for (char *at = strstr(text, "//"); at != NULL; at = strstr(at, "//")) while (*at != 0 && *at != '\n') *at++ = ' ';
  for (char *at = strstr(text, "/*"); at != NULL; at = strstr(at, "/*")) {
    char *end = strstr(at, "*/");
    for (end = end == NULL ? at + strlen(at) : end + 2; at < end; at++) if (*at != '\n') *at = ' ';
  }
}

static result_t read_ptx(module_t *module, const char *image, int processor, char *log, size_t log_size) {
  char *text = strdup(image);
  strip_comments(text);
  const char *version = after(text, ".version"), *target = after(text, "sm_"), *highest = getenv("CUDA_MOCK_PTX");
  result_t result = 0;
  char *bogus = strstr(text, "bogus");
  if (version == NULL || target == NULL || bogus != NULL) {
    int line = 1;
    for (const char *at = text; at != bogus && *at != 0; at++) line += *at == '\n';
    snprintf(log, log_size, "ptxas application ptx input, line %d; error   : Not a name of any known instruction: 'bogus'", line);
    result = INVALID_PTX;
  } else if (atof(version) > atof(highest == NULL ? "8.7" : highest)) result = UNSUPPORTED_PTX_VERSION;
  else if (atoi(target) > processor) result = NO_BINARY_FOR_GPU;
  char *at = text;
  while (result == 0 && *at != 0) {
    size_t length = strcspn(at, ";{");
    char *equals = memchr(at, '=', length);
    if (at[length] == '{' && equals != NULL) length = strcspn(at, ";");
    char end = at[length], *statement = strndup(at, length);
    for (char *each = statement; *each != 0; each++) if (*each == '\n' || *each == '\t') *each = ' ';
    char *entry = strstr(statement, ".entry");
    int is_variable = (strstr(statement, ".global") != NULL || strstr(statement, ".const") != NULL) && strstr(statement, ".extern") == NULL;
    if (entry != NULL && end == '{' && module->functions_count < MAX_ITEMS) add_kernel(module, entry);
    else if (entry == NULL && is_variable && module->variables_count < MAX_ITEMS) {
      char *dot = strstr(statement, ".visible");
      if (dot == NULL) dot = strstr(statement, ".weak");
      /* Others have no names outside. */
      if (dot != NULL) add_variable(module, dot);
    }
    free(statement);
    at += length;
    if (end == '{') {
      int depth = 0;
      do {
        depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
        if (*at == 0) { result = INVALID_PTX; break; }
        at++;
      } while (depth > 0);
    } else if (*at != 0) at++;
  }
  free(text);
  return result;
}

/* Section `.nv.info.KERNEL`. */
static void read_parameters(function_t *function, const uint8_t *info, size_t size) {
  for (size_t at = 0; at + 4 <= size;) {
    uint8_t format = info[at], attribute = info[at + 1];
    uint16_t value = (uint16_t)(info[at + 2] | info[at + 3] << 8);
    if (attribute == 0x19) function->total = value;
    if (attribute == 0x17) {
      uint32_t ordinal = (uint32_t)(info[at + 8] | info[at + 9] << 8), word;
      memcpy(&word, info + at + 12, 4);
      if (ordinal < MAX_PARAMETERS) {
        function->offset[ordinal] = (uint32_t)(info[at + 10] | info[at + 11] << 8);
        function->size[ordinal] = word >> 18;
        if (function->count <= ordinal) function->count = ordinal + 1;
      }
    }
    at += 4 + (format == 4 ? value : 0);
  }
}

static result_t read_cubin(module_t *module, const uint8_t *image, int processor) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
  if (header->e_machine != 190) return INVALID_IMAGE;
  int sm = (int)(header->e_ident[EI_ABIVERSION] >= 8 ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff);
  if (sm / 10 != processor / 10 || sm > processor) return NO_BINARY_FOR_GPU;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + header->e_shoff);
  const char *names = (const char *)image + sections[header->e_shstrndx].sh_offset;
  for (int s = 0; s < header->e_shnum; s++) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(image + sections[s].sh_offset);
    const char *strings = (const char *)image + sections[sections[s].sh_link].sh_offset;
    for (size_t i = 0; i < sections[s].sh_size / sizeof *symbols; i++) {
      const char *name = strings + symbols[i].st_name;
      int type = ELF64_ST_TYPE(symbols[i].st_info), is_global = ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL;
      if (type == STT_FUNC && (symbols[i].st_other & 0x10) && module->functions_count < MAX_ITEMS) {
        function_t *function = &module->functions[module->functions_count++];
        copy_name(function->name, name);
        for (int k = 0; k < header->e_shnum; k++) {
          const char *section = names + sections[k].sh_name;
          if (strncmp(section, ".nv.info.", 9) == 0 && strcmp(section + 9, name) == 0)
            read_parameters(function, image + sections[k].sh_offset, sections[k].sh_size);
        }
      } else if (type == STT_OBJECT && is_global && module->variables_count < MAX_ITEMS) {
        variable_t *variable = &module->variables[module->variables_count++];
        copy_name(variable->name, name);
        variable->size = symbols[i].st_size;
      }
    }
  }
  return 0;
}

result_t read_image(module_t *module, const void *image, int processor, char *log, size_t log_size) {
  if (memcmp(image, ELFMAG, 4) == 0) return read_cubin(module, image, processor);
  /* Whoever does not end PTX with a NUL lets the compiler read on. */
  const char *text = image;
  size_t length = strlen(text);
  while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
  if (length == 0 || strchr("};0123456789", text[length - 1]) == NULL) {
    snprintf(log, log_size, "ptxas application ptx input, the text does not end");
    return INVALID_PTX;
  }
  return read_ptx(module, text, processor, log, log_size);
}
