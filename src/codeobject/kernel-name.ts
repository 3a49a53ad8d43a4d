const SUFFIX = '.kd';

/** The name of a kernel as its source has it: that of its symbol without the suffix of the descriptor. */
export const kernelName = ({ name }: { readonly name: string }): string =>
  name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
