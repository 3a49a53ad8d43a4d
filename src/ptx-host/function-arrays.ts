/**
 * Constructors and destructors of a program. PTX has no sections for them: LLVM writes a variable for each,
 * `__init_array_object_FUNCTION_HASH_PRIORITY`, which holds its address, and the start-up code reads the
 * bounds of an array that the loader makes (LLVM, NVPTXCtorDtorLowering).
 */
import { WavewrightError } from '../base/errors.ts';
import type { DeviceMemory } from '../device/memory.ts';
import type { PtxSymbol } from './link.ts';
import type { PtxExecutable } from './ptx-executable.ts';

const POINTER_BYTES = 8;
const MAX_PRIORITY = 65_535;

interface ArrayObject {
  readonly priority: number;
  readonly variable: PtxSymbol;
}

/**
 * Makes the arrays in device memory and stores their bounds; the addresses of what was allocated. Throws
 * BAD_INPUT for a priority that is none, and for constructors that no start-up code asks for.
 */
export function placeFunctionArrays(executable: PtxExecutable, memory: DeviceMemory): bigint[] {
  return (['init', 'fini'] as const).flatMap((kind) => {
    const objects = arrayObjects(executable, kind);
    if (objects.length === 0) return [];
    const bounds = [`__${kind}_array_start`, `__${kind}_array_end`].map((name) => boundOf(executable, name));
    const sizeBytes = objects.length * POINTER_BYTES;
    const address = memory.allocate(sizeBytes, { label: `${kind}_array` });
    const array = memory.view(address, sizeBytes);
    for (const [index, { variable }] of objects.entries()) {
      array.set(bytesOf(executable, variable), index * POINTER_BYTES);
    }
    for (const [index, bound] of bounds.entries()) {
      new DataView(bound.buffer, bound.byteOffset).setBigUint64(0, address + BigInt(index * sizeBytes), true);
    }
    return [address];
  });
}

/** In the order of the array: by priority, those of one priority as they stand in the text. */
function arrayObjects({ symbols }: PtxExecutable, kind: 'init' | 'fini'): ArrayObject[] {
  const prefix = `__${kind}_array_object_`;
  return [...symbols]
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, variable]) => ({ priority: priorityOf(name), variable }))
    .sort((a, b) => a.priority - b.priority);
}

function priorityOf(name: string): number {
  const digits = /_(\d{1,5})$/.exec(name)?.[1];
  const priority = Number(digits ?? Number.NaN);
  if (priority <= MAX_PRIORITY) return priority;
  throw new WavewrightError('BAD_INPUT', `'${name}' ends in no priority, expected _0 to _${MAX_PRIORITY}`);
}

function boundOf(executable: PtxExecutable, name: string): Uint8Array {
  const variable = executable.symbols.get(name);
  if (variable !== undefined) return bytesOf(executable, variable);
  throw new WavewrightError('BAD_INPUT', `there are constructors or destructors, but no variable '${name}'`, {
    hint: 'the start-up code of the C library has it: link the program with it',
  });
}

function bytesOf(executable: PtxExecutable, { address, sizeBytes }: PtxSymbol): Uint8Array {
  const bytes = sizeBytes === POINTER_BYTES ? executable.view(address, sizeBytes) : undefined;
  if (bytes !== undefined) return bytes;
  throw new WavewrightError('BAD_INPUT', `a pointer to a function of ${sizeBytes} bytes, expected ${POINTER_BYTES}`);
}
