/**
 * Builds `libhsa-runtime64.so.1` for x86-64 from `native/hsa`, and its headers that are made of
 * `src/exec/protocol.ts` and `tools/api-tables.ts`. The build needs Debian's gcc.
 *
 *   node tools/native.ts            rebuild, compare with the files; throws on a difference
 *   node tools/native.ts --write    replace the header, the library and MANIFEST.json
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { protocolHeader } from '../src/exec/protocol.ts';
import { Prebuilt } from '../test/data/prebuilt.ts';
import { apiTablesHeader } from './api-tables.ts';

const FOLDER = path.join(import.meta.dirname, '../native/hsa');
const LIBRARY = 'x86-64/libhsa-runtime64.so.1';
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
/** The name that LLVM's OpenMP and IREE look for; it has nothing of its own. */
const ALIAS = 'x86-64/libhsa-runtime64.so';
const ALIAS_LINK = '-Wl,-soname,libhsa-runtime64.so -Wl,--no-as-needed -Wl,--build-id=none -Wl,-z,noseparate-code';
const ALIAS_COMMAND = `gcc -shared -nostdlib ${ALIAS_LINK} -s -o ${ALIAS} ${LIBRARY}`;
const COMMAND = `mkdir -p x86-64 && gcc ${FLAGS} ${LINK_FLAGS} -s -o ${LIBRARY} ${NATIVE_SOURCES.join(' ')}`;

export const nativeLibrary = new Prebuilt(
  FOLDER,
  [
    [LIBRARY, NATIVE_SOURCES, COMMAND],
    [ALIAS, [], ALIAS_COMMAND],
  ],
  ['gcc'],
  HEADERS,
);

if (import.meta.main) {
  if (process.argv.includes('--write')) {
    writeFileSync(path.join(FOLDER, 'protocol.h'), protocolHeader());
    writeFileSync(path.join(FOLDER, 'api-tables.h'), apiTablesHeader());
  }
  nativeLibrary.main();
}
