/* Questions to system, agents, instruction sets, pools and caches: answered from what the device process said at the begin. */
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

enum { EXTENSION_COUNT = 0x204, SYSTEM_INFO_EXTENSIONS = 7, IMAGES_EXTENSION = 1, LOADER_EXTENSION = 0x201 };

#define ITERATE(name, kind, status, list) \
  EXPORT status_t name(uint64_t subject, handle_callback_t callback, void *data) { \
    EXPECT_INITIALIZED(); \
    EXPECT(callback != NULL, INVALID_ARGUMENT); \
    EXPECT(is_subject(subject, kind), status); \
    return iterate(subject, list, callback, data); \
  }
ITERATE(hsa_agent_iterate_isas, SUBJECT_AGENT, INVALID_AGENT, LIST_ISAS)
ITERATE(hsa_agent_iterate_regions, SUBJECT_AGENT, INVALID_AGENT, LIST_REGIONS)
ITERATE(hsa_amd_agent_iterate_memory_pools, SUBJECT_AGENT, INVALID_AGENT, LIST_POOLS)
ITERATE(hsa_isa_iterate_wavefronts, SUBJECT_ISA, INVALID_ISA, LIST_WAVEFRONTS)

EXPORT status_t hsa_iterate_agents(handle_callback_t callback, void *data) {
  EXPECT_INITIALIZED();
  EXPECT(callback != NULL, INVALID_ARGUMENT);
  return iterate(SUBJECT_SYSTEM, LIST_AGENTS, callback, data);
}

EXPORT status_t hsa_agent_iterate_caches(uint64_t agent, handle_callback_t callback, void *data) {
  EXPECT_INITIALIZED();
  EXPECT(callback != NULL, INVALID_ARGUMENT);
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  return iterate(agent, LIST_CACHES, callback, data);
}

EXPORT status_t hsa_system_get_info(uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(value != NULL, INVALID_ARGUMENT);
  if (attribute != SYSTEM_INFO_TIMESTAMP) return records_answer(known(), SUBJECT_SYSTEM, attribute, value);
  uint64_t now = system_time_now();
  memcpy(value, &now, sizeof now);
  return SUCCESS;
}

/* What changes is asked for each time. */
static status_t ask_agent(uint64_t agent, uint32_t attribute, void *value) {
  agent_info_request_t request = {agent, attribute};
  void *answer = NULL;
  size_t answer_bytes = 0;
  status_t status = call(OP_AGENT_INFO, (request_t){&request, sizeof request, NULL, 0}, NULL, 0, &answer, &answer_bytes);
  if (status == SUCCESS) memcpy(value, answer, answer_bytes);
  free(answer);
  return status;
}

/*
 * HIP 5.2 gives memory with a pitch only on GPUs that say that kernels may have images, and programs want that memory more often than
 * images. All sizes of images are 0, and to make one is refused aloud.
 */
static status_t claim_images(uint32_t attribute, void *value) {
  /* Numbers of 32 bits for each attribute from HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS on. */
  static const uint8_t COUNTS[] = {1, 1, 1, 2, 2, 2, 2, 3, 1, 1, 1, 1};
  uint32_t index = attribute - AGENT_INFO_IMAGES;
  EXPECT(index < sizeof COUNTS, INVALID_ARGUMENT);
  memset(value, 0, COUNTS[index] * sizeof(uint32_t));
  if (attribute == AGENT_INFO_MAX_IMAGES) *(uint32_t *)value = 1;
  return SUCCESS;
}

bool is_gpu(uint64_t agent) {
  uint32_t kind = DEVICE_CPU;
  return is_subject(agent, SUBJECT_AGENT) && records_answer(known(), agent, AGENT_INFO_DEVICE, &kind) == SUCCESS && kind == DEVICE_GPU;
}

static bool claims_images(uint64_t agent) { return is_gpu(agent) && getenv(HIDE_IMAGES_VARIABLE) == NULL; }

EXPORT status_t hsa_agent_get_info(uint64_t agent, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  EXPECT(value != NULL, INVALID_ARGUMENT);
  if (attribute == AGENT_INFO_MEMORY_AVAILABLE || attribute == AGENT_INFO_CLOCK_COUNTERS) {
    return ask_agent(agent, attribute, value);
  }
  if (attribute >= AGENT_INFO_IMAGES && attribute <= AGENT_INFO_MAX_SAMPLERS && claims_images(agent)) return claim_images(attribute, value);
  status_t status = records_answer(known(), agent, attribute, value);
  if (attribute == AGENT_INFO_EXTENSIONS && status == SUCCESS && claims_images(agent)) *(uint8_t *)value |= 1 << IMAGES_EXTENSION;
  return status;
}

EXPORT status_t hsa_cache_get_info(uint64_t cache, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(cache, SUBJECT_CACHE), INVALID_CACHE);
  EXPECT(value != NULL, INVALID_ARGUMENT);
  return records_answer(known(), cache, attribute, value);
}

EXPORT status_t hsa_isa_get_info_alt(uint64_t isa, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(isa, SUBJECT_ISA), INVALID_ISA);
  EXPECT(value != NULL, INVALID_ARGUMENT);
  return records_answer(known(), isa, attribute, value);
}

static bool has_name(uint64_t isa, const char *name, size_t length) {
  size_t size;
  const char *found = records_find(known(), isa, ISA_INFO_NAME, &size);
  return found != NULL && size == length && memcmp(found, name, length) == 0;
}

EXPORT status_t hsa_isa_from_name(const char *name, uint64_t *isa) {
  EXPECT_INITIALIZED();
  EXPECT(name != NULL && isa != NULL, INVALID_ARGUMENT);
  size_t agent_count;
  const uint64_t *agents = records_list(known(), SUBJECT_SYSTEM, LIST_AGENTS, &agent_count);
  for (size_t i = 0; i < agent_count; i++) {
    size_t count;
    const uint64_t *isas = records_list(known(), agents[i], LIST_ISAS, &count);
    for (size_t j = 0; j < count; j++) {
      if (!has_name(isas[j], name, strlen(name))) continue;
      *isa = isas[j];
      return SUCCESS;
    }
  }
  return INVALID_ISA_NAME;
}

/* Several GPUs have instruction sets of the same name. */
EXPORT status_t hsa_isa_compatible(uint64_t code_isa, uint64_t agent_isa, bool *result) {
  EXPECT_INITIALIZED();
  EXPECT(result != NULL, INVALID_ARGUMENT);
  EXPECT(is_subject(code_isa, SUBJECT_ISA) && is_subject(agent_isa, SUBJECT_ISA), INVALID_ISA);
  size_t size;
  const char *name = records_find(known(), code_isa, ISA_INFO_NAME, &size);
  *result = name != NULL && has_name(agent_isa, name, size);
  return SUCCESS;
}

/* Deprecated: `index` chooses a call convention, of which there is one. */
EXPORT status_t hsa_isa_get_info(uint64_t isa, uint32_t attribute, uint32_t index, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(index == 0, INVALID_INDEX);
  return hsa_isa_get_info_alt(isa, attribute, value);
}

/* The handle of a wavefront is its number of lanes. */
EXPORT status_t hsa_wavefront_get_info(uint64_t wavefront, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(wavefront == 32 || wavefront == 64, INVALID_WAVEFRONT);
  EXPECT(attribute == 0 && value != NULL, INVALID_ARGUMENT);
  uint32_t lanes = (uint32_t)wavefront;
  memcpy(value, &lanes, sizeof lanes);
  return SUCCESS;
}

EXPORT status_t hsa_region_get_info(uint64_t region, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(region, SUBJECT_POOL), INVALID_REGION);
  EXPECT(value != NULL, INVALID_ARGUMENT);
  return records_answer(known(), region, REGION_ATTRIBUTES + attribute, value);
}

EXPORT status_t hsa_amd_memory_pool_get_info(uint64_t pool, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(pool, SUBJECT_POOL), INVALID_MEMORY_POOL);
  EXPECT(value != NULL, INVALID_ARGUMENT);
  return records_answer(known(), pool, attribute, value);
}

EXPORT status_t hsa_amd_agent_memory_pool_get_info(uint64_t agent, uint64_t pool, uint32_t attribute, void *value) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  EXPECT(is_subject(pool, SUBJECT_POOL), INVALID_MEMORY_POOL);
  EXPECT(value != NULL, INVALID_ARGUMENT);
  return records_answer(known(), agent << 32 | pool, attribute, value);
}

static bool has_extension(uint32_t extension, uint16_t major) {
  uint8_t bits[128] = {0};
  records_answer(known(), SUBJECT_SYSTEM, SYSTEM_INFO_EXTENSIONS, bits);
  return major == 1 && (bits[extension >> 3] >> (extension & 7) & 1) != 0;
}

EXPORT status_t hsa_system_major_extension_supported(uint16_t extension, uint16_t major, uint16_t *minor, bool *result) {
  EXPECT_INITIALIZED();
  EXPECT(extension < EXTENSION_COUNT && minor != NULL && result != NULL, INVALID_ARGUMENT);
  *result = has_extension(extension, major);
  if (*result) *minor = 3;
  return SUCCESS;
}

EXPORT status_t hsa_system_extension_supported(uint16_t extension, uint16_t major, uint16_t minor, bool *result) {
  EXPECT_INITIALIZED();
  EXPECT(extension < EXTENSION_COUNT && result != NULL, INVALID_ARGUMENT);
  *result = has_extension(extension, major) && minor <= 3;
  return SUCCESS;
}

EXPORT status_t hsa_agent_major_extension_supported(uint16_t extension, uint64_t agent, uint16_t major, uint16_t *minor, bool *result) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  return hsa_system_major_extension_supported(extension, major, minor, result);
}

EXPORT status_t hsa_agent_extension_supported(uint16_t extension, uint64_t agent, uint16_t major, uint16_t minor, bool *result) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  return hsa_system_extension_supported(extension, major, minor, result);
}

EXPORT status_t hsa_extension_get_name(uint16_t extension, const char **name) {
  EXPECT_INITIALIZED();
  EXPECT(extension == LOADER_EXTENSION && name != NULL, INVALID_ARGUMENT);
  *name = "HSA_EXTENSION_AMD_LOADER";
  return SUCCESS;
}

EXPORT status_t hsa_isa_get_exception_policies(uint64_t isa, uint32_t profile, uint16_t *mask) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(isa, SUBJECT_ISA), INVALID_ISA);
  EXPECT(profile <= 1 && mask != NULL, INVALID_ARGUMENT);
  *mask = 0;
  return SUCCESS;
}

EXPORT status_t hsa_agent_get_exception_policies(uint64_t agent, uint32_t profile, uint16_t *mask) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(agent, SUBJECT_AGENT), INVALID_AGENT);
  EXPECT(profile <= 1 && mask != NULL, INVALID_ARGUMENT);
  *mask = 0;
  return SUCCESS;
}

/* Fused operations round once. */
EXPORT status_t hsa_isa_get_round_method(uint64_t isa, uint32_t type, uint32_t flush, uint32_t *method) {
  EXPECT_INITIALIZED();
  EXPECT(is_subject(isa, SUBJECT_ISA), INVALID_ISA);
  EXPECT(method != NULL, INVALID_ARGUMENT);
  (void)type;
  (void)flush;
  *method = 1;
  return SUCCESS;
}
