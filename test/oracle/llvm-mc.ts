/** LLVM's assembler and disassembler as oracles: many instructions in one process. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

const COMMAND = 'llvm-mc-19';
/** `s_cmp_eq_i32 s0, NUMBER`, the same on all targets: separates what the encodings print. */
const MARKER = [0xbf00ff00, 0x7a000000] as const;

/** gfx9 has waves of 64 only. */
export const waveSizeFeature = (processor: string, waveSize: 32 | 64): string[] =>
  processor.startsWith('gfx9') ? [] : [`--mattr=+wavefrontsize${waveSize}`];

/**
 * What LLVM prints for each encoding (dwords), without leading white space; undefined for one that it rejects
 * or comments on.
 */
export const llvmDisassemble = (
  encodings: readonly (readonly number[])[],
  processor = 'gfx90a',
  waveSize: 32 | 64 = 64,
): (string | undefined)[] =>
  llvmTexts(encodings, processor, waveSize).map((text) => (text?.includes('/*') ? undefined : text));

/** The same with LLVM's comments on operands that it does not like. */
export function llvmTexts(
  encodings: readonly (readonly number[])[],
  processor: string,
  waveSize: 32 | 64,
): (string | undefined)[] {
  const block = (words: readonly number[]): string => {
    const bytes = words.flatMap((word) => [0, 8, 16, 24].map((shift) => `0x${((word >>> shift) & 255).toString(16)}`));
    return `[${bytes.join(' ')}]`;
  };
  const input = encodings.map((words, i) => `${block(words)}\n${block([MARKER[0], MARKER[1] | i])}\n`).join('');
  const options = ['--triple=amdgcn', `--mcpu=${processor}`, ...waveSizeFeature(processor, waveSize)];
  const result = spawnSync(COMMAND, ['--disassemble', ...options], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  assert.ok(result.status === 0 || result.status === 1, `${COMMAND}: ${result.signal ?? result.stderr.slice(0, 500)}`);
  const texts: (string | undefined)[] = [];
  let pending: string[] = [];
  for (const line of result.stdout.split('\n').map((text) => text.trim())) {
    if (line === '' || line === '.text') continue;
    if (line === `s_cmp_eq_i32 s0, 0x${(MARKER[1] | texts.length).toString(16)}`) {
      texts.push(pending.length === 0 ? undefined : pending.join('; '));
      pending = [];
    } else pending.push(line);
  }
  assert.equal(texts.length, encodings.length, 'one answer for each encoding');
  return texts;
}

/** What LLVM's assembler makes of each text: bytes as hexadecimal numbers, undefined for an error. */
export function llvmAssemble(texts: readonly string[], processor: string, waveSize: 32 | 64): (string | undefined)[] {
  const options = ['--triple=amdgcn', `--mcpu=${processor}`, ...waveSizeFeature(processor, waveSize)];
  const result = spawnSync(COMMAND, [...options, '--show-encoding'], {
    input: `${texts.join('\n')}\n`,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  const { status, signal, stdout, stderr } = result;
  assert.ok(status === 0 || status === 1, `${COMMAND}: ${signal ?? stderr.slice(0, 500)}`);
  const wrong = new Set(Array.from(stderr.matchAll(/^<stdin>:(\d+):\d+: error:/gm), ([, line]) => Number(line)));
  const encodings = Array.from(stdout.matchAll(/encoding: \[([^\]]*)\]/g), ([, bytes]) =>
    bytes!.replaceAll(/0x|,/g, ''),
  );
  const results = texts.map((_, index) => (wrong.has(index + 1) ? undefined : encodings.shift()));
  assert.equal(encodings.length, 0, 'one answer for each text');
  return results;
}
