/**
 * Constructors and destructors of a program. PTX has no sections for them: LLVM writes a variable for each,
 * `__init_array_object_FUNCTION_HASH_PRIORITY`, which holds its address, and the start-up code reads the
 * bounds of an array that the loader makes (LLVM, NVPTXCtorDtorLowering).
 */
import { WavewrightError } from '../base/errors.ts';
import type { DeviceMemory } from '../device/memory.ts';
import type { NvptxExecutable, PtxSymbol } from './executable.ts';

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
export function placeFunctionArrays(executable: NvptxExecutable, memory: DeviceMemory): bigint[] {
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
      const end = BigUint64Array.of(address + BigInt(index * sizeBytes));
      executable.write(bound.address, new Uint8Array(end.buffer));
    }
    return [address];
  });
}

/** In the order of the array: by priority, those of one priority as they stand in the text. */
function arrayObjects(executable: NvptxExecutable, kind: 'init' | 'fini'): ArrayObject[] {
  const prefix = `__${kind}_array_object_`;
  return [...executable.names]
    .filter((name) => name.startsWith(prefix))
    .map((name) => ({ priority: priorityOf(name), variable: executable.symbol(name)! }))
    .sort((a, b) => a.priority - b.priority);
}

function priorityOf(name: string): number {
  const digits = /_(\d{1,5})$/.exec(name)?.[1];
  const priority = Number(digits ?? Number.NaN);
  if (priority <= MAX_PRIORITY) return priority;
  throw new WavewrightError('BAD_INPUT', `'${name}' ends in no priority, expected _0 to _${MAX_PRIORITY}`);
}

function boundOf(executable: NvptxExecutable, name: string): PtxSymbol {
  const variable = executable.symbol(name);
  if (variable !== undefined) return checkPointer(variable);
  throw new WavewrightError('BAD_INPUT', `there are constructors or destructors, but no variable '${name}'`, {
    hint: 'the start-up code of the C library has it: link the program with it',
  });
}

const bytesOf = (executable: NvptxExecutable, variable: PtxSymbol): Uint8Array =>
  executable.read(checkPointer(variable).address, POINTER_BYTES)!;

function checkPointer(variable: PtxSymbol): PtxSymbol {
  if (variable.sizeBytes === POINTER_BYTES) return variable;
  const what = `a pointer to a function of ${variable.sizeBytes} bytes, expected ${POINTER_BYTES}`;
  throw new WavewrightError('BAD_INPUT', what);
}
