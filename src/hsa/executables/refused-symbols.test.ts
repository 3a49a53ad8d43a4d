/** Symbols that stand for something else than their address, and those with versions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { HsaError } from '../objects/status.ts';
import { buildImage, IMAGE_DATA, type ImageOptions } from '../runtime/image.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { CodeObjectReader } from './loaded-code-object.ts';

const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });
const ABS64 = 3;

function load(...images: readonly (readonly [name: string, bytes: Uint8Array])[]) {
  const runtime = createRuntime({ devices: [device] });
  const executable = runtime.createExecutable();
  const codeObjects = images.map(([name, bytes]) =>
    executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, name)),
  );
  executable.freeze();
  const quad = (file: number, dataOffset: number): bigint =>
    codeObjects[file]!.image.getBigUint64(
      codeObjects[file]!.offsetOf(BigInt(IMAGE_DATA + dataOffset), 8, 'a test'),
      true,
    );
  const at = (file: number, dataOffset: number): bigint =>
    codeObjects[file]!.loadDelta + BigInt(IMAGE_DATA + dataOffset);
  return { executable, quad, at };
}

const refused = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof HsaError, String(error));
  assert.deepEqual([error.status, error.code], ['INVALID_CODE_OBJECT', 'UNSUPPORTED']);
  assert.match(error.message, message);
  return true;
};

test('indirect functions and variables of threads are refused by name, defined or not, exported or not', () => {
  const cases: readonly [type: 'ifunc' | 'tls', what: RegExp][] = [
    ['ifunc', /a\.co: symbol 'x' is an indirect function \(STT_GNU_IFUNC\)/],
    ['tls', /a\.co: symbol 'x' is a variable of each thread \(STT_TLS\)/],
  ];
  for (const [type, what] of cases) {
    for (const more of [{ dataOffset: 0 }, {}, { dataOffset: 0, binding: 'local' }] as const) {
      const options: ImageOptions = { symbols: [{ name: 'x', type, ...more }] };
      assert.throws(() => load(['a.co', buildImage(options)]), refused(what));
    }
  }
});

test('of several versions the default one is found; uses of an old one in its own file mean that', () => {
  const HIDDEN = 0x8000;
  const versioned = buildImage({
    symbols: [
      { name: 'old', dataOffset: 0, version: 2 | HIDDEN },
      { name: 'f', dataOffset: 0, version: 2 | HIDDEN },
      { name: 'g', dataOffset: 8, version: 3 },
    ],
    relocations: [{ dataOffset: 16, type: ABS64, symbol: 'f' }],
  });
  const user = buildImage({
    symbols: [{ name: 'g' }, { name: 'f', binding: 'weak' }],
    relocations: [
      { dataOffset: 16, type: ABS64, symbol: 'g' },
      { dataOffset: 24, type: ABS64, symbol: 'f' },
    ],
  });
  const { executable, quad, at } = load(['versioned.co', versioned], ['user.co', user]);
  assert.deepEqual([quad(0, 16), quad(1, 16), quad(1, 24)], [at(0, 0), at(0, 8), 0n]);
  assert.equal(executable.findSymbol('f'), undefined);
  assert.equal(executable.getSymbol('g').address, at(0, 8));
});

test('a file that asks for a version of a symbol is refused, a relocatable object with versions, too', () => {
  const library = buildImage({ symbols: [{ name: 'f', dataOffset: 0 }] });
  const user = buildImage({
    symbols: [{ name: 'f', version: 2 }],
    relocations: [{ dataOffset: 16, type: ABS64, symbol: 'f' }],
  });
  const asks = refused(/user\.co: it asks for a certain version of symbol 'f'/);
  assert.throws(() => load(['library.co', library], ['user.co', user]), asks);
  const text = '.data\n.globl "f@V1"\n.type "f@V1",@object\n"f@V1": .quad 1\n.size "f@V1", 8\n';
  const object = assembleFile(text, { processor: 'gfx90a' });
  assert.throws(() => load(['a.o', object]), refused(/a\.o: symbol 'f@V1' has a version/));
});
