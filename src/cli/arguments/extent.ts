import { WavewrightError } from '../../base/errors.ts';

/**
 * Sizes in x, y, z as options spell them: `256`, `64,4,1`, `64x4`. Throws USAGE for what is none, or below
 * `minimum`.
 */
export function extentOf(option: string, text: string | undefined, minimum = 1): number[] {
  const fail = (what: string): never => {
    throw new WavewrightError('USAGE', what, { hint: `for example --${option} 256 or --${option} 64,4,1` });
  };
  if (text === undefined) return fail(`no --${option}`);
  const sizes = text.split(/[,x]/).map((part) => (/^\d+$/.test(part) ? Number(part) : -1));
  if (sizes.length > 3 || sizes.some((size) => size < minimum || size >= 2 ** 32)) {
    fail(`--${option} ${text}: expected 1 to 3 sizes, each from ${minimum} to ${2 ** 32 - 1}`);
  }
  return sizes;
}
