/**
 * Builds `libhsa-runtime64.so.1` for x86-64 and arm64 from `native/hsa`, and its headers that are made of
 * `src/exec/protocol.ts` and `tools/api-tables.ts`. The build needs Debian's gcc and gcc-aarch64-linux-gnu.
 *
 *   node tools/native.ts            rebuild, compare with the files; throws on a difference
 *   node tools/native.ts --write    replace the headers, the libraries and their MANIFEST.json
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { protocolHeader } from '../src/exec/protocol.ts';
import { Prebuilt } from '../test/data/prebuilt.ts';
import { apiTablesHeader } from './api-tables.ts';

const FOLDER = path.join(import.meta.dirname, '../native/hsa');
const MAP = 'native/hsa/exports.map';
const HEADERS = [
  'native/hsa/api-tables.h',
  'native/hsa/hsa-abi.h',
  'native/hsa/protocol.h',
  'native/hsa/runtime.h',
  MAP,
];
/** In the folder native/hsa. */
export const NATIVE_SOURCES = [
  ...['runtime.c', 'connection.c', 'records.c', 'info.c', 'signals.c', 'watchers.c', 'trace.c'],
  ...['memory.c', 'virtual-memory.c', 'queues.c', 'code.c', 'extensions.c', 'refused.c', 'tools.c', 'demangle.c'],
];
const FLAGS = '-std=c11 -O2 -fPIC -shared -pthread -fvisibility=hidden -Wall -Wextra -Werror -Inative/hsa';
const LINK = ['soname,libhsa-runtime64.so.1', `-version-script=${MAP}`, '-build-id=none', 'z,defs', 'z,relro', 'z,now'];
const LINK_FLAGS = LINK.map((flag) => `-Wl,-${flag}`).join(' ');
const ALIAS_LINK =
  '-Wl,-soname,libhsa-runtime64.so -Wl,--no-as-needed -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,norelro';

/** For each machine, whose name is that of its folder, the compiler. */
export const NATIVE_COMPILERS = { 'x86-64': 'gcc', arm64: 'aarch64-linux-gnu-gcc' } as const;

export function nativeLibrary(machine: keyof typeof NATIVE_COMPILERS): Prebuilt {
  const compiler = NATIVE_COMPILERS[machine];
  const library = `${machine}/libhsa-runtime64.so.1`;
  // The name that LLVM's OpenMP and IREE look for; it has nothing of its own.
  const alias = `${machine}/libhsa-runtime64.so`;
  const command = `mkdir -p ${machine} && ${compiler} ${FLAGS} ${LINK_FLAGS} -s -o ${library} ${NATIVE_SOURCES.join(' ')}`;
  return new Prebuilt(
    FOLDER,
    [
      [library, NATIVE_SOURCES, command],
      [alias, [], `${compiler} -shared -nostdlib ${ALIAS_LINK} -s -o ${alias} ${library}`],
    ],
    [compiler],
    HEADERS,
    `${machine}/MANIFEST.json`,
  );
}

if (import.meta.main) {
  if (process.argv.includes('--write')) {
    writeFileSync(path.join(FOLDER, 'protocol.h'), protocolHeader());
    writeFileSync(path.join(FOLDER, 'api-tables.h'), apiTablesHeader());
  }
  for (const machine of ['x86-64', 'arm64'] as const) nativeLibrary(machine).main();
}
