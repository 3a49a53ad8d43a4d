/** Whether bytes are a PTX text: what drivers, loaders and commands ask of a file. */

/** Comments and blank lines may stand in front, as in what was taken out of a fat binary. */
const HEAD = /^(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*\.version\s+\d/;
const HEAD_BYTES = 65_536;

export const isPtxText = (bytes: Uint8Array): boolean =>
  HEAD.test(new TextDecoder('latin1').decode(bytes.subarray(0, HEAD_BYTES)));

/** As text: what is not UTF-8 stands in comments and strings. */
export const ptxText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
