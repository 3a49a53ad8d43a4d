/** Whether a text is one that a pattern stands for, in which `*` is any characters. */
export function matchesGlob(text: string, glob: string): boolean {
  const parts = glob.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(text);
}
