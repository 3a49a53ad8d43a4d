/**
 * Generated C kernels, compiled by clang for NVPTX and by gcc for this machine: all threads compute the same.
 * `WAVEWRIGHT_SEEDS=FROM:COUNT` runs other programs than the usual ones.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createPtxDevice, parsePtx, printPtx, runPtxKernel } from '../../src/ptx.ts';
import { HOST_MAIN, kernelProgram } from '../fuzz/ptx/kernel-program.ts';
import { Random } from '../fuzz/random.ts';
import { hasClang } from './device-code.ts';

const [FROM = 1, COUNT = 30] = (process.env['WAVEWRIGHT_SEEDS'] ?? '1:30').split(':').map(Number);
const THREADS = 64;
const NVPTX = ['--target=nvptx64-nvidia-cuda', '-march=sm_70', '-nogpulib', '--cuda-path=/nonexistent', '-S'];
const MEANING = ['-w', '-ffp-contract=off', '-fwrapv', '-fno-strict-aliasing'];
const EXECUTORS = ['reference', 'handlers', 'jit'] as const;

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-ptx-oracle-'));
after(() => rmSync(folder, { recursive: true }));

function command(name: string, args: readonly string[], input?: Uint8Array): Buffer {
  const { status, stdout, stderr } = spawnSync(name, args, { cwd: folder, ...(input && { input }) });
  assert.equal(status, 0, `${name} ${args.join(' ')}\n${stderr}`);
  return stdout;
}

/** Numbers with few and with many bits. */
function inputsOf(seed: number): Uint8Array {
  const random = new Random(seed);
  const words = BigUint64Array.from({ length: THREADS * 4 }, () => {
    const word = (BigInt(random.next()) << 32n) | BigInt(random.next());
    return word >> BigInt(random.below(64));
  });
  return new Uint8Array(words.buffer);
}

async function compare(seed: number, level: string): Promise<string | undefined> {
  const source = `k${seed}.c`;
  writeFileSync(path.join(folder, source), kernelProgram(seed));
  writeFileSync(path.join(folder, 'main.c'), HOST_MAIN);
  const input = inputsOf(seed);
  command('gcc', ['-O1', ...MEANING, source, 'main.c', '-lm', '-o', 'host']);
  const host = new BigUint64Array(Uint8Array.from(command('./host', [], input)).buffer);
  command('clang-19', [...NVPTX, level, ...MEANING, source, '-o', 'k.ptx']);
  const text = readFileSync(path.join(folder, 'k.ptx'), 'utf8');
  assert.equal(printPtx(parsePtx(printPtx(parsePtx(text, 'k')), 'k')), printPtx(parsePtx(text, 'k')));
  const executor = EXECUTORS[seed % EXECUTORS.length]!;
  using device = createPtxDevice({ processor: 'sm_70', executor, memorySizeBytes: 2 ** 26 });
  const buffer = { kind: 'buffer', elements: undefined } as const;
  const { outputs } = await runPtxKernel({
    ...{ device, texts: [{ text, name: 'k.ptx' }], grid: [THREADS], workgroup: [THREADS] },
    args: [
      { ...buffer, text: 'out', contents: new Uint8Array(), sizeBytes: THREADS * 8, output: 'out' },
      { ...buffer, text: 'in', contents: input, sizeBytes: input.length, output: undefined },
    ],
  });
  const found = new BigUint64Array(Uint8Array.from(outputs[0]!.bytes).buffer);
  const wrong = host.findIndex((each, i) => each !== found[i]);
  return wrong < 0 ? undefined : `seed ${seed} ${level} ${executor}: thread ${wrong}`;
}

test('generated kernels compute what they do on this machine', {
  skip: !hasClang && 'clang-19 is not installed',
}, async () => {
  const disagreements: string[] = [];
  for (let seed = FROM; seed < FROM + COUNT; seed++) {
    const found = await compare(seed, ['-O0', '-O1', '-O2', '-O3'][seed % 4]!);
    if (found !== undefined) disagreements.push(found);
  }
  assert.deepEqual(disagreements, []);
});
