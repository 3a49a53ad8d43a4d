/** The code object of the device library for a processor: its own, or that of its generic processor. */
import { processorNamed } from '../../../codeobject/processors.ts';
import { HalError } from '../../core/status.ts';
import { LIBRARY_IMAGES } from './images.ts';

/** Targets that the library was built for. */
export const LIBRARY_TARGETS: readonly string[] = Object.keys(LIBRARY_IMAGES);

/** The most special target of the library whose code a processor runs; undefined for none. */
export function libraryTarget(processor: string): string | undefined {
  const candidates = [processor, processorNamed(processor)?.generic?.name];
  return LIBRARY_TARGETS.find((target) => candidates.includes(target));
}

/** The code object. Throws INCOMPATIBLE for a processor that the library was not built for. */
export async function libraryImage(processor: string): Promise<Uint8Array> {
  const target = libraryTarget(processor);
  if (target === undefined) {
    throw new HalError('INCOMPATIBLE', `the device library was not built for ${processor}`, {
      hint: `it was for ${LIBRARY_TARGETS.join(', ')}; with transfers=host nothing of it is needed`,
    });
  }
  const compressed = Uint8Array.from(atob(LIBRARY_IMAGES[target]!), (character) => character.charCodeAt(0));
  const bytes = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(bytes).arrayBuffer());
}
