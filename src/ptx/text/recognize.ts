/** Whether bytes are a PTX text: what drivers, loaders and commands ask of a file. */

/** Comments and blank lines may stand in front, as in what was taken out of a fat binary. */
const GAP = /(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*/.source;
const HEAD = new RegExp(`^${GAP}\\.version\\s+(\\d+\\.\\d+)(?:${GAP}\\.target\\s+(\\w+))?`);
const HEAD_BYTES = 65_536;

const headOf = (bytes: Uint8Array): RegExpExecArray | null =>
  HEAD.exec(new TextDecoder('latin1').decode(bytes.subarray(0, HEAD_BYTES)));

export const isPtxText = (bytes: Uint8Array): boolean => headOf(bytes) !== null;

/** What `.version` and `.target` say, `8.5` and `sm_90a`; nothing of what is no PTX. */
export function ptxHead(bytes: Uint8Array): { readonly version?: string; readonly processor?: string } {
  const [, version, processor] = headOf(bytes) ?? [];
  return { ...(version !== undefined && { version }), ...(processor !== undefined && { processor }) };
}

/** As text: what is not UTF-8 stands in comments and strings. */
export const ptxText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes).replace(/\0+$/, '');
