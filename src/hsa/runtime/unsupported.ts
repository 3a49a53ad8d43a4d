/**
 * Functions of AMD's extension that nothing here can do, by name, with the reason: for programs that offer
 * all of them to others.
 */
import { HsaError } from '../objects/status.ts';

const VIRTUAL_MEMORY =
  'an address always means the same memory here: pages cannot be mapped at will, see SYSTEM_INFO.virtualMemApiSupported';
const SHARED_VIRTUAL_MEMORY = 'agents do not reach memory of the host that is not locked, see SYSTEM_INFO.svmSupported';
const FILE_DESCRIPTORS = 'memory has no file descriptor that others could open, see SYSTEM_INFO.dmabufSupported';

export const UNSUPPORTED_FUNCTIONS = {
  hsa_amd_interop_map_buffer: FILE_DESCRIPTORS,
  hsa_amd_interop_unmap_buffer: FILE_DESCRIPTORS,
  hsa_amd_portable_export_dmabuf: FILE_DESCRIPTORS,
  hsa_amd_portable_close_dmabuf: FILE_DESCRIPTORS,
  hsa_amd_svm_attributes_set: SHARED_VIRTUAL_MEMORY,
  hsa_amd_svm_attributes_get: SHARED_VIRTUAL_MEMORY,
  hsa_amd_svm_prefetch_async: SHARED_VIRTUAL_MEMORY,
  hsa_amd_vmem_address_reserve: VIRTUAL_MEMORY,
  hsa_amd_vmem_address_reserve_align: VIRTUAL_MEMORY,
  hsa_amd_vmem_address_free: VIRTUAL_MEMORY,
  hsa_amd_vmem_handle_create: VIRTUAL_MEMORY,
  hsa_amd_vmem_handle_release: VIRTUAL_MEMORY,
  hsa_amd_vmem_map: VIRTUAL_MEMORY,
  hsa_amd_vmem_unmap: VIRTUAL_MEMORY,
  hsa_amd_vmem_set_access: VIRTUAL_MEMORY,
  hsa_amd_vmem_get_access: VIRTUAL_MEMORY,
  hsa_amd_vmem_export_shareable_handle: FILE_DESCRIPTORS,
  hsa_amd_vmem_import_shareable_handle: FILE_DESCRIPTORS,
  hsa_amd_vmem_retain_alloc_handle: VIRTUAL_MEMORY,
  hsa_amd_vmem_get_alloc_properties_from_handle: VIRTUAL_MEMORY,
} as const;

export type UnsupportedFunction = keyof typeof UNSUPPORTED_FUNCTIONS;

/** NOT_SUPPORTED, and why. */
export function unsupported(name: UnsupportedFunction): HsaError {
  return new HsaError('NOT_SUPPORTED', `${name}: ${UNSUPPORTED_FUNCTIONS[name]}`);
}
