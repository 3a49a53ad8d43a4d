import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import { HsaError } from '../objects/status.ts';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { buildImage, IMAGE_DATA, type ImageOptions } from '../runtime/image.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';
import type { KernelSymbol } from './kernel-symbol.ts';
import { CodeObjectReader, type LoadedCodeObject } from './loaded-code-object.ts';

const R = {
  none: 0,
  abs32Lo: 1,
  abs32Hi: 2,
  abs64: 3,
  rel32: 4,
  rel64: 5,
  abs32: 6,
  gotpcrel: 7,
  rel32Lo: 10,
  rel32Hi: 11,
  relative64: 13,
  rel16: 14,
};

function setUp(device = new FakeDevice()) {
  const runtime = createRuntime({ devices: [device] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  const load = (options: ImageOptions, name = 'a.co'): Loaded => {
    const image = buildImage(options);
    return new Loaded(executable.loadCodeObject(agent, new CodeObjectReader(image, name)), device);
  };
  return { device, runtime, agent, executable, load };
}

class Loaded {
  readonly codeObject: LoadedCodeObject;
  readonly #device: FakeDevice;

  constructor(codeObject: LoadedCodeObject, device: FakeDevice) {
    this.codeObject = codeObject;
    this.#device = device;
  }

  /** Loaded address of a byte of the data area. */
  at(dataOffset: number): bigint {
    return BigInt(IMAGE_DATA + dataOffset) + this.codeObject.loadDelta;
  }

  u64(dataOffset: number): bigint {
    return this.#device.memory.data(this.at(dataOffset), 8).getBigUint64(0, true);
  }

  u32(dataOffset: number): number {
    return this.#device.memory.data(this.at(dataOffset), 4).getUint32(0, true);
  }
}

const refused = (status: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof HsaError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};

const variable = (name: string, dataOffset: number, rest = {}) => ({ name, dataOffset, ...rest });
const external = (name: string, rest = {}) => ({ name, type: 'none', ...rest }) as const;

test('segments stand at their relative addresses, the rest is zero', () => {
  const { device, load } = setUp();
  const loaded = load({ data: Uint8Array.from({ length: 64 }, (_, index) => index + 1), bssSizeBytes: 10_000 });
  const { address, sizeBytes } = loaded.codeObject;
  assert.equal(address % 4096n, 0n);
  assert.equal(device.memory.find(address)?.label, 'code object a.co');
  assert.equal(loaded.u64(0), 0x0807060504030201n);
  const bytes = device.memory.view(address, sizeBytes);
  assert.ok(bytes.subarray(sizeBytes - 10_000).every((byte) => byte === 0));
  assert.equal(String.fromCharCode(...bytes.subarray(1, 4)), 'ELF');
});

test('kernels, variables and device functions are symbols of their kinds', () => {
  const { executable, load } = setUp();
  load({
    kernels: [
      {
        name: 'k',
        metadata: { '.kernarg_segment_size': 24, '.uses_dynamic_stack': true, '.private_segment_fixed_size': 40 },
      },
    ],
    symbols: [
      variable('counter', 0, { sizeBytes: 4 }),
      variable('helper', 16, { type: 'function' }),
      variable('secret', 24, { visibility: 'hidden' }),
      variable('inner', 32, { type: 'function', binding: 'local' }),
      variable('inner_data', 40, { binding: 'local' }),
    ],
  });
  executable.freeze();
  const shape = executable.symbols.map(({ name, kind, linkage }) => [name, kind, linkage]);
  assert.deepEqual(shape, [
    ['k.kd', 'kernel', 'program'],
    ['counter', 'variable', 'program'],
    ['helper', 'indirect-function', 'program'],
    ['inner', 'indirect-function', 'module'],
  ]);
  const kernel = executable.getSymbol('k.kd') as KernelSymbol;
  assert.equal(kernel.kernelObject, kernel.address);
  assert.equal(kernel.kernargSegmentSizeBytes, 24);
  assert.equal(kernel.kernargSegmentAlignmentBytes, 16);
  assert.equal(kernel.privateSegmentSizeBytes, 40);
  assert.equal(kernel.dynamicCallstack, true);
  assert.equal(kernel.wavefrontSize, 64);
  assert.equal(executable.getSymbol('counter').sizeBytes, 4);
  assert.equal(executable.findSymbol('inner'), undefined);
  assert.throws(
    () => executable.getSymbol('nothing'),
    refused('INVALID_SYMBOL_NAME', /a\.co: there is no symbol 'nothing'/),
  );
});

test('every relocation of a loaded image stores what the table says', () => {
  const { executable, agent, load } = setUp();
  executable.defineVariable(agent, 'far', 0x1234_5678_9abc_def0n);
  executable.defineVariable(agent, 'low', 0x1000n);
  const loaded = load({
    data: new Uint8Array(128).fill(0xee),
    symbols: [variable('own', 96), external('far'), external('low')],
    relocations: [
      { dataOffset: 0, type: R.abs64, symbol: 'far', addend: -16n },
      { dataOffset: 8, type: R.relative64, addend: 0x77n },
      { dataOffset: 16, type: R.abs32Lo, symbol: 'far', addend: 1n },
      { dataOffset: 20, type: R.abs32Hi, symbol: 'far' },
      { dataOffset: 24, type: R.abs32, symbol: 'low', addend: 4n },
      { dataOffset: 28, type: R.rel32, symbol: 'own', addend: 2n },
      { dataOffset: 32, type: R.rel64, symbol: 'far' },
      { dataOffset: 40, type: R.rel32Lo, symbol: 'far', addend: 4n },
      { dataOffset: 44, type: R.rel32Hi, symbol: 'far', addend: 12n },
      { dataOffset: 48, type: R.rel16, symbol: 'own' },
      { dataOffset: 56, type: R.none },
      { dataOffset: 64, type: R.abs64, symbol: 'own' },
    ],
  });
  assert.equal(loaded.u64(0), 0xeeeeeeeeeeeeeeeen);
  executable.freeze();
  const far = 0x1234_5678_9abc_def0n;
  assert.equal(loaded.u64(0), far - 16n);
  assert.equal(loaded.u64(8), loaded.codeObject.loadDelta + 0x77n);
  assert.equal(loaded.u32(16), 0x9abcdef1);
  assert.equal(loaded.u32(20), 0x12345678);
  assert.equal(loaded.u32(24), 0x1004);
  assert.equal(loaded.u32(28), 96 + 2 - 28);
  assert.equal(loaded.u64(32), far - loaded.at(32));
  assert.equal(BigInt(loaded.u32(40)), BigInt.asUintN(32, far + 4n - loaded.at(40)));
  assert.equal(BigInt(loaded.u32(44)), (far + 12n - loaded.at(44)) >> 32n);
  assert.equal(loaded.u32(48), (0xeeee_0000 | ((96 - 48 - 4) / 4)) >>> 0);
  assert.equal(loaded.u64(56), 0xeeeeeeeeeeeeeeeen);
  assert.equal(loaded.u64(64), loaded.at(96));
});

test('addends in place are signed and of the width of the field', () => {
  const { executable, load } = setUp();
  const data = new Uint8Array(64);
  new DataView(data.buffer).setBigInt64(0, -8n, true);
  new DataView(data.buffer).setInt32(8, -4, true);
  const loaded = load({
    data,
    symbols: [variable('own', 32)],
    relocations: [
      { dataOffset: 0, type: R.abs64, symbol: 'own' },
      { dataOffset: 8, type: R.rel32, symbol: 'own' },
    ],
    addendsInPlace: true,
  });
  executable.freeze();
  assert.equal(loaded.u64(0), loaded.at(24));
  assert.equal(loaded.u32(8), 32 - 4 - 8);
});

test('absolute symbols are not moved, segments keep their alignment', () => {
  const { executable, load } = setUp();
  const loaded = load({
    symbols: [{ name: 'fixed', type: 'none', absolute: 0x1234 }],
    relocations: [{ dataOffset: 0, type: R.abs64, symbol: 'fixed' }],
    alignmentBytes: 0x4_0000,
  });
  executable.freeze();
  assert.equal(loaded.u64(0), 0x1234n);
  assert.equal(loaded.at(0) % 0x4_0000n, BigInt(IMAGE_DATA));
});

test('code objects link in any order, also in cycles', () => {
  const { executable, load } = setUp();
  const user = load({
    symbols: [variable('a', 0), external('b')],
    relocations: [{ dataOffset: 8, type: R.abs64, symbol: 'b' }],
  });
  const library = load(
    {
      symbols: [variable('b', 0, { type: 'function' }), external('a')],
      relocations: [{ dataOffset: 8, type: R.abs64, symbol: 'a' }],
    },
    'b.co',
  );
  executable.freeze();
  assert.equal(user.u64(8), library.at(0));
  assert.equal(library.u64(8), user.at(0));
});

test('an undefined strong symbol is VARIABLE_UNDEFINED with its name, and nothing is patched', () => {
  const { executable, load } = setUp();
  const loaded = load({
    symbols: [external('ghost'), external('spectre'), external('maybe', { binding: 'weak' })],
    relocations: [
      { dataOffset: 0, type: R.relative64, addend: 1n },
      { dataOffset: 8, type: R.abs64, symbol: 'ghost' },
      { dataOffset: 16, type: R.abs64, symbol: 'spectre' },
      { dataOffset: 24, type: R.abs64, symbol: 'maybe' },
    ],
  });
  assert.throws(
    () => executable.freeze(),
    refused('VARIABLE_UNDEFINED', /a\.co: undefined symbols 'ghost', 'spectre'$/),
  );
  assert.equal(executable.frozen, false);
  assert.equal(loaded.u64(0), 0n);
});

test('an undefined weak symbol is 0, its addend still counts', () => {
  const { executable, load } = setUp();
  const loaded = load({
    symbols: [external('maybe', { binding: 'weak' })],
    relocations: [{ dataOffset: 0, type: R.abs64, symbol: 'maybe', addend: 3n }],
  });
  executable.freeze();
  assert.equal(loaded.u64(0), 3n);
});

test('strong beats weak in either order, the first of two weak ones stays, a preemptible own definition gives way, a protected one does not', () => {
  const { executable, load } = setUp();
  const weak = load({
    symbols: [variable('x', 0, { binding: 'weak' }), variable('y', 8, { binding: 'weak' })],
    relocations: [{ dataOffset: 16, type: R.abs64, symbol: 'x' }],
  });
  const bound = load(
    {
      symbols: [variable('x', 0, { binding: 'weak', visibility: 'protected' })],
      relocations: [{ dataOffset: 16, type: R.abs64, symbol: 'x' }],
    },
    'bound.co',
  );
  const strong = load({ symbols: [variable('x', 0), variable('y', 8, { binding: 'weak' })] }, 'strong.co');
  const user = load(
    {
      symbols: [external('x'), external('y')],
      relocations: [
        { dataOffset: 0, type: R.abs64, symbol: 'x' },
        { dataOffset: 8, type: R.abs64, symbol: 'y' },
      ],
    },
    'user.co',
  );
  executable.freeze();
  assert.equal(user.u64(0), strong.at(0));
  assert.equal(user.u64(8), weak.at(8));
  assert.equal(weak.u64(16), strong.at(0));
  assert.equal(bound.u64(16), bound.at(0));
  assert.equal(executable.getSymbol('x').address, strong.at(0));
});

test('two strong definitions are refused when the second is loaded, without a trace', () => {
  const { device, executable, agent, load } = setUp();
  load({ symbols: [variable('x', 0)] });
  const before = device.memory.allocations.size;
  assert.throws(
    () => load({ symbols: [variable('x', 0)] }, 'b.co'),
    refused('VARIABLE_ALREADY_DEFINED', /b\.co: symbol 'x'/),
  );
  assert.equal(device.memory.allocations.size, before);
  assert.throws(() => executable.defineVariable(agent, 'x', 1n), refused('VARIABLE_ALREADY_DEFINED', /'x'/));
});

test('a frozen executable takes nothing more', () => {
  const { executable, agent, load } = setUp();
  load({});
  executable.freeze();
  assert.throws(() => executable.freeze(), refused('FROZEN_EXECUTABLE', /frozen/));
  assert.throws(() => load({}), refused('FROZEN_EXECUTABLE', /frozen/));
  assert.throws(() => executable.defineVariable(agent, 'x', 1n), refused('FROZEN_EXECUTABLE', /frozen/));
});

test('frozen code is published with its functions, and withdrawn with its memory', () => {
  const { device, executable, load } = setUp();
  const loaded = load({
    kernels: [{ name: 'k' }],
    symbols: [variable('inner', 0, { type: 'function', binding: 'local', sizeBytes: 12 })],
  });
  assert.equal(device.published.length, 0);
  executable.freeze();
  const [code] = device.published;
  assert.equal(code?.address, loaded.codeObject.address);
  assert.deepEqual(
    code?.symbols.map(({ name, sizeBytes }) => [name, sizeBytes]),
    [
      ['k', 256],
      ['inner', 12],
    ],
  );
  assert.equal(code?.symbols[1]?.address, loaded.at(0));
  executable[Symbol.dispose]();
  assert.equal(device.published.length, 0);
  assert.equal(device.memory.find(loaded.codeObject.address), undefined);
});

test('an image for another target is UNSUPPORTED and says why', () => {
  const { load } = setUp();
  const wrongTarget = (error: unknown) =>
    error instanceof HsaError && error.status === 'INCOMPATIBLE_ARGUMENTS' && error.exitStatus === 4;
  // gfx942, and gfx90a with xnack on.
  assert.throws(
    () => load({ eFlags: 0x54c }),
    (error: unknown) =>
      wrongTarget(error) && /a\.co: cannot run on fake:gfx90a: it was built for gfx942/.test(String(error)),
  );
  assert.throws(
    () => load({ eFlags: 0x73f }),
    (error: unknown) => wrongTarget(error) && /xnack on, the agent has it off/.test(String(error)),
  );
});

test('relocations that no image can hold, or outside of it, or that do not fit are INVALID_CODE_OBJECT', () => {
  const cases: [ImageOptions, RegExp][] = [
    [
      { relocations: [{ dataOffset: 0, type: R.gotpcrel }] },
      /dynamic relocation 0: relocation R_AMDGPU_GOTPCREL \(7\)/,
    ],
    [{ relocations: [{ dataOffset: 0, type: 99 }] }, /relocation type 99/],
    [{ relocations: [{ dataOffset: 1 << 20, type: R.abs64 }] }, /outside all segments/],
    [
      { relocations: [{ dataOffset: 0, type: R.abs32, addend: 1n << 32n }] },
      /R_AMDGPU_ABS32: 0x100000000 does not fit 32 bits/,
    ],
    [{ relocations: [{ dataOffset: 0, type: R.rel16, addend: 0n }] }, /R_AMDGPU_REL16: .* does not fit 16 bits/],
  ];
  for (const [options, message] of cases) {
    const { executable, load } = setUp();
    load(options);
    assert.throws(() => executable.freeze(), refused('INVALID_CODE_OBJECT', message));
  }
});

test('a symbol outside all segments is refused', () => {
  const { load } = setUp();
  assert.throws(
    () => load({ symbols: [variable('x', 1 << 24)] }),
    refused('INVALID_CODE_OBJECT', /'x'.*outside all segments/),
  );
});

test('an image larger than memory is LIMIT_EXCEEDED', () => {
  const { load } = setUp();
  for (const bssSizeBytes of [2 ** 30, 2 ** 52]) {
    assert.throws(
      () => load({ bssSizeBytes }),
      (error: unknown) => error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED',
    );
  }
});

test('a mutated image loads or throws a WavewrightError', () => {
  const bytes = buildImage({
    kernels: [{ name: 'k' }],
    symbols: [variable('x', 0), external('y')],
    relocations: [{ dataOffset: 8, type: R.abs64, symbol: 'y' }],
  });
  const mutation = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(mutation, (changes) => {
      const { agent, executable } = setUp(new FakeDevice(2 ** 18));
      const mutated = bytes.slice();
      for (const [at, value] of changes) mutated[at] = value;
      try {
        executable.loadCodeObject(agent, new CodeObjectReader(mutated, 'mutated'));
        executable.freeze();
      } catch (error) {
        if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
      }
    }),
    { numRuns: 1000 },
  );
});
