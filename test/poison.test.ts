/**
 * Registers that liveness calls dead are overwritten before each instruction: no kernel computes anything
 * else.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { WavewrightError } from '../src/base/errors.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import type { StepObserver } from '../src/emulator/reference/step-observer.ts';
import { registerNumber } from '../src/flow/steps.ts';
import { createEmulatedDevice } from '../src/index.ts';
import type { LiveLanes } from '../src/isa.ts';
import { type LiftedCode, liftCodeObject } from '../src/lift/lifted-code.ts';
import { runImage } from './fuzz/run-image.ts';
import { LoadedAddresses } from './loaded-code.ts';
import { RegisterPoison } from './register-poison.ts';

/** A device on which code runs poisoned, once `load` said what code. */
function poisonedDevice(processor: string, seed: number, change = (live: LiveLanes): LiveLanes => live) {
  let poison: RegisterPoison | undefined;
  const observer: StepObserver = { beforeStep: (wave, step) => poison?.beforeStep(wave, step) };
  const device = createEmulatedDevice({ processor, observer });
  const load = (bytes: Uint8Array): RegisterPoison => {
    const places = new LoadedAddresses(device, bytes);
    const lifted: LiftedCode = liftCodeObject(places.codeObject);
    poison = new RegisterPoison(
      (offset) => {
        const step = lifted.stepAt(places.address(offset));
        const owner = step && lifted.functionOf(step);
        return step && owner && change(owner.liveBefore(step));
      },
      { seed },
    );
    return poison;
  };
  return { device, load };
}

function kernelOutput(name: string, processor: string, change?: (live: LiveLanes) => LiveLanes): [string, string] {
  const benchmark = KERNELS.find((each) => each.name === name)!;
  const image = { name, bytes: readFileSync(`examples/kernels/${name}.${processor}.co`) };
  const outputOf = (runner: KernelRunner): string =>
    Buffer.from(runner.prepare(image, benchmark.kernel ?? name, benchmark.launch('small'))().output).toString('hex');
  using native = new KernelRunner({ processor });
  const { device, load } = poisonedDevice(processor, 1, change);
  using poisoned = new KernelRunner(device);
  const poison = load(image.bytes);
  const outputs: [string, string] = [outputOf(native), outputOf(poisoned)];
  assert.ok(poison.filled > 100, `${poison.filled} registers were filled`);
  return outputs;
}

const NAMES = ['gather', 'stencil', 'matmul16', 'collatz', 'histogram', 'bitonic', 'saxpy'];
for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  for (const name of NAMES) {
    test(`${processor}: ${name}`, () => {
      const [native, poisoned] = kernelOutput(name, processor);
      assert.equal(poisoned, native);
    });
  }
}

test('a live register that is called dead shows', () => {
  const all = (1n << 4096n) - 1n;
  /** Nothing is dead but v1, of which gather's addresses are made. */
  const onlyV1 = (): LiveLanes => ({ active: all ^ (1n << BigInt(registerNumber('vector', 1))), inactive: all });
  const isChanged = (): boolean => {
    try {
      const [native, poisoned] = kernelOutput('gather', 'gfx90a', onlyV1);
      return native !== poisoned;
    } catch (error) {
      // What is at such an address need not be memory.
      return error instanceof WavewrightError && error.code === 'GPU_FAULT';
    }
  };
  assert.ok(isChanged());
});

for (const [image, processor] of [
  ['hello/hello.gfx90a.co', 'gfx90a'],
  ['hello/hello.gfx1100.co', 'gfx1100'],
  ['checks/divergence.gfx942.co', 'gfx942'],
] as const) {
  test(`program ${image}`, async () => {
    const bytes = readFileSync(`examples/${image}`);
    const run = { args: ['a', 'bc'], threads: [4, 1, 1] as const };
    const native = createEmulatedDevice({ processor });
    const { device, load } = poisonedDevice(processor, 2);
    const poison = load(bytes);
    try {
      const expected = await runImage(bytes, { ...run, device: native });
      const poisoned = await runImage(bytes, { ...run, device });
      assert.deepEqual([poisoned.stdout, poisoned.status], [expected.stdout, expected.status]);
      assert.ok(poison.filled > 100);
    } finally {
      native.close();
      device.close();
    }
  });
}
