/** Modules of users. */
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageFile } from '../../base/node-package-file.ts';

let isLeading = false;

/**
 * Imports a module. What it imports of `wavewright` is what runs, wherever the module is: a tool needs no
 * package beside it, and gets no second copy of ours. Throws what Node throws.
 */
export async function importUserModule(file: string): Promise<Record<string, unknown>> {
  if (!isLeading) {
    registerHooks({
      resolve: (specifier, context, next) => {
        const found = /^wavewright(?:\/(\w+))?$/.exec(specifier);
        return found ? { url: ownModule(found[1] ?? 'index'), shortCircuit: true } : next(specifier, context);
      },
    });
    isLeading = true;
  }
  return import(pathToFileURL(path.resolve(file)).href);
}

/** Of what the package exports: a source where this module is one, else a file of the same bundle. */
const ownModule = (name: string): string =>
  import.meta.url.endsWith('.ts')
    ? pathToFileURL(packageFile(`src/${name}.ts`)).href
    : new URL(`./${name}.js`, import.meta.url).href;
