/** What a benchmark kernel is: how it is launched, what counts as one operation, and what it must compute. */

/**
 * A number is a 32-bit integer; an array is a buffer that holds it; `{ sizeBytes }` is a zero-filled buffer.
 */
export type Argument =
  | number
  | Int32Array
  | Uint32Array
  | Float16Array
  | Float32Array
  | Float64Array
  | { readonly sizeBytes: number };

export interface BenchmarkLaunch {
  /** Work-items in each dimension. */
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
  readonly args: readonly Argument[];
}

/**
 * Of launches whose results are compared with the model: `full` is measured, `small` is for tests and for the
 * reference executor.
 */
export type CheckedSize = 'full' | 'small';

/** `long` takes some 200 ms or more, for what several workers can share. */
export type Size = CheckedSize | 'long';

/** Elements of the first buffer after one run. */
export type Result = Uint32Array | Float32Array | Float64Array;

export interface KernelBenchmark {
  /** Of its code objects, `examples/kernels/NAME.PROCESSOR.co`. */
  readonly name: string;
  /** Name of the kernel and of its source, `examples/kernels/KERNEL.cl`, where it is another. */
  readonly kernel?: string;
  /** Those that it is built for; absent: all. */
  readonly processors?: readonly string[];
  /** One operation. */
  readonly unit: string;
  launch(size: Size): BenchmarkLaunch;
  /** Operations of one launch. */
  operations(size: Size): number;
  /**
   * What the first buffer must hold after one run, computed by plain JavaScript; measured too, as the
   * baseline `js`.
   */
  model(launch: BenchmarkLaunch): Result;
  /**
   * Largest difference from the model, relative to the larger of 1 and the model's value. Without it, results
   * are the same bits.
   */
  readonly tolerance?: number;
}

/** Says where an output differs from what the model computed; undefined where it does not. */
export function differenceFrom(expected: Result, output: Uint8Array, tolerance = 0): string | undefined {
  const bytes = Uint8Array.from(output);
  const of = <T>(type: new (buffer: ArrayBuffer) => T): T => new type(bytes.buffer);
  const found =
    expected instanceof Float64Array
      ? of(Float64Array)
      : expected instanceof Float32Array
        ? of(Float32Array)
        : of(Uint32Array);
  if (found.length !== expected.length) return `${found.length} elements, expected ${expected.length}`;
  const limit = expected instanceof Uint32Array ? 0 : tolerance;
  const isWrong = (value: number, i: number): boolean =>
    !(Object.is(value, expected[i]) || Math.abs(value - expected[i]!) <= limit * Math.max(1, Math.abs(expected[i]!)));
  const wrong = (found as Float64Array).findIndex(isWrong);
  return wrong < 0 ? undefined : `element ${wrong} is ${found[wrong]}, expected ${expected[wrong]}`;
}
