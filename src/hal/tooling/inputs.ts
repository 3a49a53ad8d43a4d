/**
 * What kernels get and give, in the notation of IREE's tools (`--input`, `--expected_output`, `--output`;
 * iree/tooling/function_io.h). Files are the caller's.
 */
import { concatenate } from '../../base/concatenate.ts';
import { invalidArgument } from '../core/status.ts';
import { readNpy, writeNpy } from './npy.ts';
import { parseElements, parseTensorType, type Tensor, tensorOf, tensorText, tensorTypeText } from './tensor.ts';

export type Input =
  /**
   * `isStorage`: a result of the kernel, whatever else is known of it (`&`). `arrayFile`: the file of numpy
   * that says the type; of others the command line does.
   */
  | { readonly kind: 'tensor'; readonly tensor: Tensor; readonly isStorage: boolean; readonly arrayFile?: string }
  /** A number as it stands, whose type is the parameter's. */
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'null' }
  | { readonly kind: 'ignored' };

/** Files that are read from where the last input from them ended. */
export class InputFiles {
  readonly #read: (file: string) => Uint8Array;
  readonly #files = new Map<string, { readonly bytes: Uint8Array; position: number }>();

  constructor(read: (file: string) => Uint8Array) {
    this.#read = read;
  }

  /** `@`: from the start of the file; `+`: what follows. */
  open(reference: string) {
    const name = reference.slice(1);
    const file = this.#files.get(name) ?? { bytes: this.#read(name), position: 0 };
    if (reference.startsWith('@')) file.position = 0;
    this.#files.set(name, file);
    return { name, file };
  }
}

const isNpy = (reference: string): boolean => reference.endsWith('.npy');

/** The inputs that one text stands for: one, or all arrays of a file (`*file.npy`). */
export function parseInputs(text: string, files: InputFiles): Input[] {
  const tensor = (one: Tensor, isStorage = false) => ({ kind: 'tensor' as const, tensor: one, isStorage });
  if (text === '(null)') return [{ kind: 'null' }];
  if (text === '(ignored)') return [{ kind: 'ignored' }];
  if (/^[@+*]/.test(text) && isNpy(text)) {
    return arraysOf(text, files).map((each) => ({ ...tensor(each), arrayFile: text.slice(1) }));
  }
  const spec = text.trim().replace(/^"(.*)"$/s, '$1');
  const isStorage = spec.startsWith('&');
  const equals = spec.indexOf('=');
  const head = spec.slice(isStorage ? 1 : 0, equals < 0 ? undefined : equals);
  if (!isStorage && equals < 0 && /^[+-]?(?:\d|\.\d|inf|nan)/i.test(head) && !/^\d+x/.test(head)) {
    return [{ kind: 'value', text: head }];
  }
  if (/^[@+*]/.test(head)) {
    throw invalidArgument(`'${head}' has neither a type nor the end .npy`, { hint: `such as 4xf32=${head}` });
  }
  const type = parseTensorType(head);
  const contents = equals < 0 ? '' : spec.slice(equals + 1);
  if (!/^[@+]/.test(contents) || /^\+[\d.]/.test(contents)) return [tensor(parseElements(type, contents), isStorage)];
  const { name, file } = files.open(contents);
  const sizeBytes = parseElements(type, '').bytes.length;
  const bytes = file.bytes.slice(file.position, file.position + sizeBytes);
  if (bytes.length < sizeBytes) {
    throw invalidArgument(`${name}: ${tensorTypeText(type)} needs ${sizeBytes} bytes, ${bytes.length} follow`);
  }
  file.position += sizeBytes;
  return [tensor(tensorOf(type, bytes), isStorage)];
}

function arraysOf(reference: string, files: InputFiles): Tensor[] {
  const { name, file } = files.open(reference);
  const arrays: Tensor[] = [];
  do {
    const { tensor, end } = readNpy(file.bytes, file.position, name);
    file.position = end;
    arrays.push(tensor);
  } while (reference.startsWith('*') && file.position < file.bytes.length);
  return arrays;
}

/** Where results go; what is written to files is complete when `files` is asked for. */
export class Outputs {
  readonly #read: (file: string) => Uint8Array | undefined;
  readonly #files = new Map<string, Uint8Array>();

  /** `read` gives what a file holds that something is appended to; undefined for none. */
  constructor(read: (file: string) => Uint8Array | undefined) {
    this.#read = read;
  }

  get files(): ReadonlyMap<string, Uint8Array> {
    return this.#files;
  }

  /**
   * Takes a result: nothing is done with it where `target` is empty; `@FILE` replaces a file, `+FILE` adds to
   * it, as an array of numpy or as bytes. Returns the text to print, for `-`.
   */
  take(index: number, target: string, tensor: Tensor, maxElements?: number): string {
    if (target === '') return '';
    if (target === '-') return viewResultText(index, tensor, maxElements);
    if (!/^[@+]./.test(target)) throw invalidArgument(`output '${target}', expected -, @FILE, +FILE or nothing`);
    const name = target.slice(1);
    const contents = isNpy(target) ? writeNpy(tensor) : tensor.bytes;
    const before = target.startsWith('+') ? (this.#files.get(name) ?? this.#read(name)) : undefined;
    this.#files.set(name, before === undefined ? contents : concatenate([before, contents]));
    return '';
  }
}

/** A result as IREE's tools print it. */
export const viewResultText = (index: number, tensor: Tensor, maxElements?: number): string =>
  `result[${index}]: hal.buffer_view\n${tensorText(tensor, maxElements)}\n`;
