/** Texts that are linked with each other, as images: compiled, or taken from where code is kept. */
import { kept } from '../base/kept-code.ts';
import { IMAGES_FORM } from '../ptx/compile/kept-images.ts';
import { compileModule, type PtxImage, sharedFunctions } from '../ptx/compile/module.ts';
import { SharedLayout } from '../ptx/compile/shared-layout.ts';
import { parseSource } from '../ptx/text/parser.ts';
import { PtxSource } from '../ptx/text/source.ts';
import type { PtxModule } from '../ptx/text/syntax.ts';
import { DEVICE_LIBRARY, LIBRARY_FUNCTIONS } from './device-library.ts';
import type { PtxText } from './executable.ts';

export interface CompiledText {
  readonly source: PtxSource;
  readonly image: PtxImage;
}

/** The device library stands behind texts that need it. `wanted`: functions that the host names. */
export function compileTexts(texts: readonly PtxText[], wanted: readonly string[]): readonly CompiledText[] {
  const sources = texts.map(({ text, name }) => new PtxSource(text, name));
  const library = new PtxSource(DEVICE_LIBRARY, 'device library');
  const key = (): string => {
    const parts = texts.map(({ text }) => `${text.length}\n${text}`);
    return `PTX ${JSON.stringify(wanted.toSorted())}\n${parts.join('')}`;
  };
  const images = kept(key, () => compileSources(sources, library, wanted), IMAGES_FORM);
  return images.map((image, i) => {
    const source = sources[i] ?? library;
    return { source, image: { ...image, name: source.name } };
  });
}

/** Functions are compiled that kernels or variables need, and those that several modules name. */
function compileSources(
  sources: readonly PtxSource[],
  library: PtxSource,
  wanted: readonly string[],
): readonly PtxImage[] {
  const parsed = sources.map(parsedSource);
  if (needsLibrary(parsed.map(({ module }) => module))) parsed.push(parsedSource(library));
  const shared = parsed.flatMap(({ module }) => [...sharedFunctions(module)]);
  const [seen, names] = [new Set<string>(), new Set(wanted)];
  for (const name of shared) (seen.has(name) ? names : seen).add(name);
  const layout = new SharedLayout(parsed);
  return parsed.map((part) => compileModule(part, layout, names));
}

const parsedSource = (source: PtxSource) => ({ source, module: parseSource(source) });

/** Whether the modules leave a function to CUDA's runtime. */
function needsLibrary(modules: readonly PtxModule[]): boolean {
  const functions = modules.flatMap(({ items }) => items.filter((item) => item.kind === 'function'));
  const names = new Set<string>(LIBRARY_FUNCTIONS);
  for (const { name, body } of functions) if (body) names.delete(name);
  return functions.some(({ name, body }) => !body && names.has(name));
}
