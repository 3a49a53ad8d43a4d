/** The programs of LLVM that ours stands in for; `bin/` has one for each. */
const NAMES = ['llvm-gpu-loader', 'amdhsa-loader', 'nvptx-loader'] as const;

export type UpstreamLoader = (typeof NAMES)[number];

export const isUpstreamLoader = (name: string): name is UpstreamLoader => NAMES.some((known) => known === name);
