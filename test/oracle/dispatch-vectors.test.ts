/**
 * The compiled gfx942 kernels of `vectors-gfx942.test.ts` as code objects, run as `wavewright dispatch` runs
 * kernels: descriptor, queue, packet, arguments.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { assembleFile } from '../../src/assembler/assemble-file.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { dispatchKernel } from '../../src/dispatch/dispatch.ts';
import type { ParsedArgument } from '../../src/launch/argument-text.ts';
import { linkCodeObject } from '../../src/linker/link.ts';
import { fuses, type KernelVector, modeOf, readKernelVectors, TOLERANCE_ULPS, within } from './kernel-vectors.ts';

const SHARED = path.resolve(import.meta.dirname, '../../../shared');
const FOLDER = process.env['WAVEWRIGHT_GFX942_VECTORS'] ?? path.join(SHARED, 'vectors/gfx942-kernels');
const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined && existsSync(SHARED);

/** A code object whose descriptor says what the record says. */
function codeObjectOf({ Kernel: name, Code, Entry, Rsrc1, Rsrc2, LDS }: KernelVector): Uint8Array {
  const code = Buffer.from(Code, 'hex');
  const bytes = (part: Buffer): string => (part.length === 0 ? '' : `.byte ${[...part].join(', ')}\n`);
  const mode = modeOf(Rsrc1);
  const bit = (number: number): number => (Rsrc2 >> number) & 1;
  const source = `.text
.p2align 8
${bytes(code.subarray(0, Entry))}.p2align 8
.globl ${name}
.protected ${name}
.type ${name},@function
${name}:
${bytes(code.subarray(Entry))}.size ${name}, .-${name}
.rodata
.p2align 6
.amdhsa_kernel ${name}
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_user_sgpr_count ${(Rsrc2 >> 1) & 31}
 .amdhsa_next_free_vgpr 512
 .amdhsa_accum_offset 256
 .amdhsa_next_free_sgpr 100
 .amdhsa_group_segment_fixed_size ${LDS}
 .amdhsa_private_segment_fixed_size ${bit(0) * 16_384}
 .amdhsa_enable_private_segment ${bit(0)}
 .amdhsa_system_sgpr_workgroup_id_x ${bit(7)}
 .amdhsa_system_sgpr_workgroup_id_y ${bit(8)}
 .amdhsa_system_sgpr_workgroup_id_z ${bit(9)}
 .amdhsa_system_vgpr_workitem_id ${(Rsrc2 >> 11) & 3}
 .amdhsa_float_round_mode_32 ${mode & 3}
 .amdhsa_float_round_mode_16_64 ${(mode >> 2) & 3}
 .amdhsa_float_denorm_mode_32 ${(mode >> 4) & 3}
 .amdhsa_float_denorm_mode_16_64 ${(mode >> 6) & 3}
 .amdhsa_dx10_clamp ${(mode >> 8) & 1}
 .amdhsa_ieee_mode ${(mode >> 9) & 1}
.end_amdhsa_kernel
`;
  return linkCodeObject([{ bytes: assembleFile(source, { processor: 'gfx942' }), name: `${name}.o` }]);
}

/**
 * The recorded segment in steps of 8 bytes: the address of a buffer becomes that buffer. Undefined where one
 * stands in two places.
 */
function argumentsOf({ Kernarg, Bufs, folder }: KernelVector): ParsedArgument[] | undefined {
  const segment = Buffer.from(Kernarg.padEnd(Math.ceil(Kernarg.length / 16) * 16, '0'), 'hex');
  const used = new Set<string>();
  const args: ParsedArgument[] = [];
  for (let i = 0; i < segment.length; i += 8) {
    const value = segment.readBigUInt64LE(i);
    const buffer = Bufs.find(({ Addr, Size }) => value >= BigInt(Addr) && value < BigInt(Addr + Size));
    if (buffer === undefined) {
      args.push({ kind: 'value', text: 'recorded', bytes: Uint8Array.from(segment.subarray(i, i + 8)) });
      continue;
    }
    const output = String(buffer.Addr);
    if (value !== BigInt(buffer.Addr) || used.has(output)) return undefined;
    used.add(output);
    const contents = buffer.Pre === '' ? new Uint8Array(0) : readFileSync(path.join(folder, buffer.Pre));
    args.push({ kind: 'buffer', text: output, contents, sizeBytes: buffer.Size, output });
  }
  return args;
}

function run(vector: KernelVector, args: readonly ParsedArgument[]): void {
  const { outputs } = dispatchKernel({
    device: createEmulatedDevice({ processor: 'gfx942', memorySizeBytes: 2 ** 28 }),
    images: [{ bytes: codeObjectOf(vector), name: vector.Kernel }],
    grid: vector.Grid,
    workgroup: vector.WG,
    args,
    timeoutMs: 60_000,
  });
  const ulps = fuses(Uint8Array.from(Buffer.from(vector.Code, 'hex')), 'gfx942') ? TOLERANCE_ULPS : 0;
  let compared = 0;
  for (const { Addr, Pre, Post } of vector.Bufs) {
    const output = outputs.find(({ file }) => file === String(Addr));
    const file = Post === '' ? Pre : Post;
    if (file === '' || output === undefined) continue;
    const expected = readFileSync(path.join(vector.folder, file));
    const found = Buffer.from(output.bytes);
    compared++;
    for (let i = 0; i + 4 <= found.length; i += 4) {
      const [ours, theirs] = [found.readUInt32LE(i), expected.readUInt32LE(i)];
      assert.ok(
        within(ours, theirs, ulps),
        `0x${(Addr + i).toString(16)}: 0x${ours.toString(16)}, not 0x${theirs.toString(16)}`,
      );
    }
  }
  assert.ok(compared > 0);
}

if (!existsSync(FOLDER)) {
  test('gfx942 kernels through dispatch', { skip: isRequired ? false : `no vectors at ${FOLDER}` }, () => {
    assert.fail(`no vectors at ${FOLDER}`);
  });
} else {
  const vectors = readKernelVectors(FOLDER);
  const runnable = vectors.flatMap((vector) => {
    const args = argumentsOf(vector);
    return args === undefined ? [] : [{ vector, args }];
  });
  test('most kernels have each buffer in one argument', () => assert.ok(runnable.length > vectors.length / 2));
  for (const { vector, args } of runnable) {
    test(`${vector.name}, ${vector.Kernel}`, () => run(vector, args));
  }
}
