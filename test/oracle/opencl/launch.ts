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
  /** Memory that the kernel may change. Its bytes are compared; with `ulps`, numbers may differ by so many units in the last place. */
  | { readonly kind: 'buffer'; readonly contents: Numbers; readonly ulps?: number }
  /** By value; `type` is its C type. */
  | { readonly kind: 'value'; readonly type: string; readonly contents: Numbers }
  /** A pointer to LDS that the launch allocates. */
  | { readonly kind: 'local'; readonly sizeBytes: number };

export type Extent = readonly [x: number, y: number, z: number];

export interface Launch {
  readonly kernel: string;
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

/** Contents of the buffers of a launch after it, in the order of the arguments. */
export type Results = readonly Uint8Array[];
