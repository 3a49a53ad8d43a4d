/** Where code that emulated devices compile is kept for the next process. */
import path from 'node:path';
import { fnv1a64 } from '../../base/hash.ts';
import { folderOf, openCodeFolder } from '../../devices/emulated/node-code-store.ts';

const { readFileSync } = process.getBuiltinModule('node:fs');

/**
 * Keeps the code of this process in the user's cache, in the folder that WAVEWRIGHT_CODE_CACHE names, or, if
 * that is `off`, nowhere. What a bundle compiles is kept by what is in the bundle; of sources that run as
 * they are nobody knows whether they changed, and nothing is kept.
 */
export function keepCodeInFolder(): void {
  const { WAVEWRIGHT_CODE_CACHE: named, XDG_CACHE_HOME: caches, HOME, USERPROFILE } = process.env;
  if (named === 'off' || import.meta.url.endsWith('.ts')) return;
  const home = HOME || USERPROFILE;
  const cache = caches || (home && path.join(home, '.cache'));
  const parent = named || (cache && path.join(cache, 'wavewright'));
  if (!parent) return;
  // It names the scripts of the command line, whose names come from what is in them.
  const main = readFileSync(new URL('./main.txt', import.meta.url));
  openCodeFolder(folderOf(parent, fnv1a64(main)));
}
