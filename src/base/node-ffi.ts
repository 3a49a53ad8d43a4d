import type * as Ffi from 'node:ffi';

/**
 * Imports node:ffi without the warning that the module is experimental: who needs native code knows what it
 * takes.
 */
export async function importFfi(): Promise<typeof Ffi> {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return await import('node:ffi');
  } finally {
    process.emitWarning = emitWarning;
  }
}
