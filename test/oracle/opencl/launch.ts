/** A kernel of `test/data/opencl`, what it is launched with and how its results are compared. */

export type Numbers =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float16Array
  | Float32Array
  | Float64Array;

export type Argument =
  /**
   * Memory that the kernel may change. Its bytes are compared; with `ulps`, numbers may differ by so many
   * units in the last place.
   */
  | { readonly kind: 'buffer'; readonly contents: Numbers; readonly ulps?: number }
  /** By value; `type` is its C type. */
  | { readonly kind: 'value'; readonly type: string; readonly contents: Numbers }
  /** A pointer to LDS that the launch allocates. */
  | { readonly kind: 'local'; readonly sizeBytes: number }
  /** LDS behind that of the kernel, without a pointer to it. */
  | { readonly kind: 'dynamic'; readonly sizeBytes: number };

export type Extent = readonly [x: number, y: number, z: number];

export interface Launch {
  /** As C or C++ names it. */
  readonly kernel: string;
  /** As the code object names it, where that is something else. */
  readonly symbol?: string;
  readonly args: readonly Argument[];
  /** Work-items; groups at the edge may be smaller. */
  readonly grid: Extent;
  readonly group: Extent;
}

export const buffer = (contents: Numbers, ulps?: number): Argument => ({
  kind: 'buffer',
  contents,
  ...(ulps !== undefined && { ulps }),
});
export const value = (type: string, contents: Numbers): Argument => ({ kind: 'value', type, contents });
export const int = (number: number): Argument => value('int', Int32Array.of(number));
export const local = (sizeBytes: number): Argument => ({ kind: 'local', sizeBytes });

export function launch(
  kernel: string,
  args: readonly Argument[],
  [x, y = 1, z = 1]: readonly number[],
  [groupX, groupY = 1, groupZ = 1]: readonly number[],
): Launch {
  return { kernel, args, grid: [x!, y, z], group: [groupX!, groupY, groupZ] };
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: Numbers): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** The bytes as numbers of the same type. */
export const sameType = (numbers: Numbers, bytes: Uint8Array): Numbers =>
  new (numbers.constructor as new (bytes: ArrayBuffer) => Numbers)(Uint8Array.from(bytes).buffer);

/** Contents of the buffers of a launch after it, in the order of the arguments. */
export type Results = readonly Uint8Array[];

/** One and a half waves; the last group of a grid is cut. */
export const GROUP = 96;

/** `count` zeros of the same type. */
export const zeros = (contents: Numbers, count: number): Numbers =>
  new (contents.constructor as new (length: number) => Numbers)(count);

export interface Elementwise {
  readonly inputs: readonly Numbers[];
  /** Of this type is what the kernel writes. Default: that of the first input. */
  readonly like?: Numbers;
  /** Numbers for each work-item. */
  readonly results: number;
  readonly ulps?: number;
  readonly extra?: readonly Argument[];
  /** Default: a number a bit below that of the work-items. */
  readonly last?: readonly Argument[];
}

/** KERNEL(out, inputs..., extra..., last...): without `last` the final work-items have nothing to do. */
export function elementwise(kernel: string, items: number, options: Elementwise): Launch {
  const { inputs, like = inputs[0]!, results, ulps, extra = [], last = [int(items - 3)] } = options;
  const out = buffer(zeros(like, items * results), ulps);
  return launch(kernel, [out, ...inputs.map((numbers) => buffer(numbers)), ...extra, ...last], [items], [GROUP]);
}

/** Two inputs of one kind. */
export const two = (make: (seed: number) => Numbers): Numbers[] => [make(1), make(2)];
