// Rebuilds the device library of the HAL's amdgpu driver: `node rebuild.ts` compares it with MANIFEST.json,
// `node rebuild.ts --write` replaces both, and the module that the driver has the library in.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { Prebuilt, type Recipe } from '../prebuilt.ts';

/** clang-19 knows no gfx9-4-generic: its processors have files of their own. */
const TARGETS = [
  ...['gfx9-generic', 'gfx908', 'gfx90a', 'gfx940', 'gfx941', 'gfx942'],
  ...['gfx10-1-generic', 'gfx10-3-generic', 'gfx11-generic', 'gfx12-generic'],
];

const SOURCE = 'kernels.c';
const FLAGS = '-std=c17 -O2 -ffreestanding -nogpulib -Wall -Wextra -Wl,--strip-all -Wl,--build-id=none';
const IMAGES = path.resolve(import.meta.dirname, '../../../src/hal/amdgpu/library/images.ts');

/** Generic processors need version 6 of code objects. */
const versionOf = (target: string): number => (target.endsWith('-generic') ? 6 : 5);

const RECIPES: Recipe[] = TARGETS.map((target) => {
  const file = `library.${target}.co`;
  const options = `--target=amdgcn-amd-amdhsa -mcpu=${target} -mcode-object-version=${versionOf(target)} ${FLAGS}`;
  return [file, [SOURCE], `clang-19 ${options} -o ${file} ${SOURCE}`];
});

export const prebuiltLibrary = new Prebuilt(import.meta.dirname, RECIPES, ['clang-19']);

/** The bytes of the code object for a target, as they lie beside this file. */
export const libraryFile = (target: string): Uint8Array =>
  readFileSync(path.join(import.meta.dirname, `library.${target}.co`));

function imagesModule(): string {
  const rows = TARGETS.map((target) => {
    const text = deflateRawSync(libraryFile(target), { level: 9 }).toString('base64');
    return `  '${target}':\n    '${text}',`;
  });
  return `/**
 * The device library for each target: code objects, compressed (RFC 1951), in base64.
 * test/data/hal-library/rebuild.ts makes this file from their source.
 */
export const LIBRARY_IMAGES: Readonly<Record<string, string>> = {
${rows.join('\n').replaceAll(/'(gfx\w+)':/g, '$1:')}
};
`;
}

if (import.meta.main) {
  prebuiltLibrary.main();
  if (process.argv.includes('--write')) writeFileSync(IMAGES, imagesModule());
}
