/** The name of a kernel as its source has it: that of its symbol without the suffix of the descriptor. */
export const kernelName = ({ name }: { readonly name: string }): string => name.replace(/\.kd$/, '');
