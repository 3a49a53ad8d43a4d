/** Modules of users. */
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** What the package exports for Node, by what follows its name. */
const EXPORTED: Readonly<Record<string, () => Promise<object>>> = {
  index: () => import('../../index.ts'),
  hal: () => import('../../hal.ts'),
  instrument: () => import('../../instrument.ts'),
  isa: () => import('../../isa.ts'),
  node: () => import('../../node.ts'),
  ptx: () => import('../../ptx.ts'),
  web: () => import('../../web.ts'),
};

const SCHEME = 'wavewright-own:';
/** Where modules that stand for ours find them, by name. */
const REGISTRY = 'wavewright.modules';

let isLeading = false;

/**
 * Imports a module. What it imports of `wavewright` is what runs, wherever the module is: a tool needs no
 * package beside it, and gets no second copy of ours. Throws what Node throws.
 */
export async function importUserModule(file: string): Promise<Record<string, unknown>> {
  if (!isLeading) await leadToOurs();
  isLeading = true;
  return import(pathToFileURL(path.resolve(file)).href);
}

/** Scripts, as which the command line runs, are no modules to import: others have their values. */
async function leadToOurs(): Promise<void> {
  const modules = new Map<string, object>();
  for (const [name, load] of Object.entries(EXPORTED)) modules.set(name, await load());
  Object.defineProperty(globalThis, Symbol.for(REGISTRY), { value: modules });
  registerHooks({
    resolve: (specifier, context, next) => {
      const found = /^wavewright(?:\/(\w+))?$/.exec(specifier);
      const name = found ? (found[1] ?? 'index') : '';
      return modules.has(name) ? { url: SCHEME + name, shortCircuit: true } : next(specifier, context);
    },
    load: (url, context, next) => {
      const name = url.startsWith(SCHEME) ? url.slice(SCHEME.length) : '';
      const own = modules.get(name);
      if (own === undefined) return next(url, context);
      const source = `export const { ${Object.keys(own)} } = globalThis[Symbol.for('${REGISTRY}')].get('${name}');`;
      return { format: 'module', source, shortCircuit: true };
    },
  });
}
