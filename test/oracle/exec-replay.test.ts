/**
 * A HIP program is recorded and profiled under `exec`, and its kernels are replayed without it, with the
 * same bytes.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../../src/cli/run-command.test-support.ts';
import { countedKernels } from '../../src/profile/counted-kernels.ts';
import { Profile } from '../../src/profile/profile.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const skip = isRequired || existsSync('/usr/bin/hipcc') ? false : 'hipcc is not installed';
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-exec-replay-'));
after(() => rmSync(folder, { recursive: true }));

/** Two kernels, one after the other, then the first one with other memory. */
const PROGRAM = `
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
__global__ void vadd(float *o, const float *a, const float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = a[i] + b[i];
}
__global__ void scale(float *o, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] *= f;
}
int main() {
  const int n = 1024;
  std::vector<float> a(n), b(n), o(n);
  for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
  float *da, *db, *dc;
  hipMalloc(&da, n * 4), hipMalloc(&db, n * 4), hipMalloc(&dc, n * 4);
  hipMemcpy(da, a.data(), n * 4, hipMemcpyHostToDevice);
  hipMemcpy(db, b.data(), n * 4, hipMemcpyHostToDevice);
  vadd<<<n / 64, 64>>>(dc, da, db, n);
  scale<<<n / 64, 64>>>(dc, 0.5f, n);
  hipMemcpy(o.data(), dc, n * 4, hipMemcpyDeviceToHost);
  b[3] = 100;
  hipMemcpy(db, b.data(), n * 4, hipMemcpyHostToDevice);
  vadd<<<n / 64, 64>>>(dc, da, db, n);
  hipMemcpy(a.data(), dc, n * 4, hipMemcpyDeviceToHost);
  const int size = 1 << 20;
  std::vector<char> large(size, 7);
  void *d;
  hipMalloc(&d, size);
  hipMemcpy(d, large.data(), size, hipMemcpyHostToDevice);
  hipMemcpy(large.data(), d, size, hipMemcpyDeviceToHost);
  printf("%g %g %g\\n", o[1], o[1023], a[3]);
}
`;

test('what a HIP program did is replayed without it', { skip, timeout: 300_000 }, async () => {
  const [source, program, file] = ['p.hip', 'p', 'p.ireereplay'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(source, PROGRAM);
  const env = { ...process.env, HIP_PLATFORM: 'amd' };
  const built = spawnSync('hipcc', ['--offload-arch=gfx90a', source, '-o', program], { env, encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  const launcher = path.join(ROOT, 'bin/wavewright.js');
  const argv = [launcher, 'replay', 'record', file, '--', 'exec', program];
  const recorded = spawnSync(process.execPath, argv, { encoding: 'utf8', timeout: 120_000 });
  assert.deepEqual([recorded.status, recorded.stdout], [0, '1.5 1534.5 103\n'], recorded.stderr);
  const profile = path.join(folder, 'p.ireeprof');
  const family = '--device_profiling_mode=host-execution,dispatch-events,counters,instruction-counts';
  const profiled = [launcher, 'profile', 'record', '-o', profile, family, '--', 'exec', program];
  const { status: ended, stderr } = spawnSync(process.execPath, profiled, { encoding: 'utf8', timeout: 120_000 });
  assert.equal(ended, 0, stderr);
  const kernels = countedKernels(Profile.read(readFileSync(profile)));
  assert.deepEqual(
    kernels
      .filter(({ key }) => /vadd|scale/.test(key))
      .map(({ key, dispatchCount, waveCount }) => [/vadd|scale/.exec(key)![0], dispatchCount, waveCount])
      .sort(),
    [
      ['scale', 1n, 16n],
      ['vadd', 2n, 32n],
    ],
  );
  const { stdout: queue } = await runCommand(['profile', 'queue', profile, '--format=jsonl']);
  const copies = [...queue.matchAll(/"type":"host_execution_event".*"op":"copy".*"payload_length":(\d+)/g)];
  assert.deepEqual(
    copies.map(([, bytes]) => Number(bytes)),
    [4096, 4096, 2 ** 20, 2 ** 20],
    'but for three small ones to the GPU, which HIP writes itself',
  );
  rmSync(program);
  const { status, stdout } = await runCommand(['replay', 'verify', file]);
  assert.match(stdout, /^recorded: 3 operations, \d+ comparisons, no differences\nparallel: 3 operations/);
  assert.equal(status, 0);
});
