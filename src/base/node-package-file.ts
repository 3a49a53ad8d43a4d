import { fileURLToPath } from 'node:url';

/**
 * The path of a file of the package, in a checkout and in what is published, by its path from the package's
 * folder. Only here is a place known from that of a source: `tools/bundle.ts` moves this module.
 */
export const packageFile = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
