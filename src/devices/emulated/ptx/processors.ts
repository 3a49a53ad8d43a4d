/** NVIDIA processors whose PTX runs here, as `.target` names them. */
export const PTX_PROCESSORS: readonly string[] = ['sm_70', 'sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90'];

export const isPtxProcessor = (name: string): boolean => PTX_PROCESSORS.includes(name);
