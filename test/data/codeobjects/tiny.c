// The smallest kernel, for bundles.
__attribute__((amdgpu_kernel, visibility("protected"))) void tiny(__attribute__((address_space(1))) int *out) {
  out[__builtin_amdgcn_workitem_id_x()] = 42;
}
