/**
 * Matrix products in a pipeline: while one batch is multiplied, the next one is copied to the GPU. Two queues,
 * a timeline semaphore for each, and one command buffer that runs for every batch with other buffers: a matrix
 * product, then a reduction that adds up its bits. Run it where the package is installed, or in a checkout
 * after `npm run build`: `node examples/hal/pipeline.mts [URI]`.
 */
import { readFileSync } from 'node:fs';
import { createHal } from 'wavewright/hal';

const N = 64;
const TILE = 16;
const BATCHES = 6;
const BYTES = 4 * N * N;
const matrix = (seed: number): Float32Array => Float32Array.from({ length: N * N }, (_, i) => ((i * seed) % 7) - 3);

await using hal = createHal();
const device = await hal.open(process.argv[2] ?? 'amdgpu?target=gfx90a');
const [copies, compute] = device.queues;
if (copies === undefined || compute === undefined) throw new Error(`${device.name} has less than two queues`);
/** The examples are there for gfx90a, gfx942 and gfx1100. */
const target = device.physicalDevices[0]!.formats.at(-1);
const kernel = (name: string) => readFileSync(new URL(`../kernels/${name}.${target}.co`, import.meta.url));
using code = device.load([kernel('matmul16'), kernel('reduction')]);

using commands = device.record({ slots: ['a', 'b', 'product', 'total'], label: 'batch' }, (recorder) => {
  const [a, b, product, total] = ['a', 'b', 'product', 'total'].map((slot) => ({ slot }));
  recorder.fill({ target: total!, pattern: Uint8Array.of(0) });
  recorder.dispatch({
    entry: code.lookup('matmul16'),
    groups: [N / TILE, N / TILE],
    bindings: [product!, a!, b!],
    constants: [N],
  });
  recorder.barrier();
  recorder.dispatch({ entry: code.lookup('reduction'), groups: 4, bindings: [total!, product!], constants: [N * N] });
});

/** Two sets of inputs, so that one is filled while the other one is used. */
const inputs = [0, 1].map(() => ({ a: device.allocate(BYTES), b: device.allocate(BYTES) }));
using product = device.allocate(BYTES);
const totals = Array.from({ length: BATCHES }, () =>
  device.allocate(4, { memoryType: 'host-local', usage: ['default', 'mapping'] }),
);
const copied = device.createSemaphore({ label: 'copied' });
const computed = device.createSemaphore({ label: 'computed' });
for (const [batch, total] of totals.entries()) {
  const { a, b } = inputs[batch % 2]!;
  // The inputs may be overwritten when the batch before the last one has been multiplied.
  const free = [computed.at(Math.max(batch - 1, 0))];
  const first = copies.update({ target: a, contents: matrix(batch + 2), waits: free });
  copies.update({ target: b, contents: matrix(batch + 3), waits: [first], signals: [copied.at(batch + 1)] });
  compute.execute({
    commands,
    bindings: { a, b, product, total },
    waits: [copied.at(batch + 1), computed.at(batch)],
    signals: [computed.at(batch + 1)],
  });
}
await computed.at(BATCHES);

for (const [batch, total] of totals.entries()) {
  const [found] = new Uint32Array(total.read().slice().buffer);
  const expected = checksum(matrix(batch + 2), matrix(batch + 3));
  console.log(
    `batch ${batch}: ${found!.toString(16)} ${found === expected ? 'as expected' : `expected ${expected.toString(16)}`}`,
  );
}

/** The same on the host: all values are small integers, so that sums are exact in any order. */
function checksum(a: Float32Array, b: Float32Array): number {
  const result = new Float32Array(N * N);
  for (let row = 0; row < N; row++) {
    for (let column = 0; column < N; column++) {
      for (let k = 0; k < N; k++) result[row * N + column]! += a[row * N + k]! * b[k * N + column]!;
    }
  }
  return new Uint32Array(result.buffer).reduce((sum, bits) => (sum + bits) >>> 0, 0);
}
