/**
 * Text of instructions against LLVM's disassembler: the checked-in code objects, samples of every encoding,
 * immediates, random words.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { encode, type FieldValues } from '../../src/isa/amdgpu/encoding/encode.test-support.ts';
import { encodingSamples, random } from './encoding-samples.ts';
import { compareWithLlvm, isShown, type LlvmTarget, textOf } from './llvm-text.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** LLVM 19 does not survive reserved selects in these; the samples cover the others. */
const isSdwa = (first: number): boolean => first < 2 ** 31 && (first & 0x1ff) === 249;

const IMMEDIATES = ['s_waitcnt', 's_sendmsg', 's_sendmsghalt', 's_endpgm', 's_nop', 's_sleep', 's_trap'];
const IMMEDIATES_GFX9 = [...IMMEDIATES, 's_set_gpr_idx_mode'];
const IMMEDIATES_GFX11 = [
  ...IMMEDIATES,
  ...['s_delay_alu', 's_waitcnt_depctr', 's_clause', 's_round_mode', 's_denorm_mode', 's_set_inst_prefetch_distance'],
  ...['s_version', 's_waitcnt_vscnt', 's_subvector_loop_begin', 's_wait_event', 's_ttracedata_imm'],
];

const IMMEDIATES_GFX10 = [
  ...IMMEDIATES,
  ...[
    's_waitcnt_depctr',
    's_clause',
    's_round_mode',
    's_denorm_mode',
    's_inst_prefetch',
    's_version',
    's_waitcnt_vscnt',
  ],
];

const IMMEDIATES_GFX12 = [
  ...IMMEDIATES.filter((name) => name !== 's_waitcnt'),
  ...['s_delay_alu', 's_wait_alu', 's_clause', 's_round_mode', 's_denorm_mode', 's_version', 's_barrier_wait'],
  ...['s_wait_loadcnt', 's_wait_kmcnt', 's_wait_storecnt_dscnt', 's_singleuse_vdst'],
];

interface Subject extends LlvmTarget {
  /**
   * How many instructions the checked-in code objects have at least; absent: there are none of this wave
   * size.
   */
  readonly instructionCount?: number;
  readonly immediates: readonly string[];
  /** An instruction that spells 8 bits, and its fields. */
  readonly byte?: (value: number) => readonly [name: string, fields: FieldValues];
}

const indexMode: Subject['byte'] = (ssrc1) => ['s_set_gpr_idx_on', { ssrc0: 3, ssrc1 }];
const reply: Subject['byte'] = (ssrc0) => ['s_sendmsg_rtn_b32', { sdst: 3, ssrc0 }];

const SUBJECTS: readonly Subject[] = [
  { processor: 'gfx900', waveSize: 64, immediates: IMMEDIATES_GFX9, byte: indexMode },
  { processor: 'gfx906', waveSize: 64, immediates: IMMEDIATES_GFX9, byte: indexMode },
  { processor: 'gfx908', waveSize: 64, immediates: IMMEDIATES_GFX9, byte: indexMode },
  { processor: 'gfx90a', waveSize: 64, instructionCount: 10_000, immediates: IMMEDIATES_GFX9, byte: indexMode },
  { processor: 'gfx942', waveSize: 64, instructionCount: 3_000, immediates: IMMEDIATES_GFX9, byte: indexMode },
  { processor: 'gfx1030', waveSize: 32, immediates: IMMEDIATES_GFX10 },
  { processor: 'gfx1030', waveSize: 64, immediates: IMMEDIATES_GFX10 },
  { processor: 'gfx1100', waveSize: 32, instructionCount: 500, immediates: IMMEDIATES_GFX11, byte: reply },
  { processor: 'gfx1100', waveSize: 64, immediates: IMMEDIATES_GFX11, byte: reply },
  { processor: 'gfx1150', waveSize: 32, immediates: IMMEDIATES_GFX11, byte: reply },
  { processor: 'gfx1200', waveSize: 32, immediates: IMMEDIATES_GFX12, byte: reply },
];

for (const subject of SUBJECTS) {
  const { processor, instructionCount, immediates } = subject;
  const title = `${processor} wave${subject.waveSize}`;
  const codeObjects = globSync([`examples/**/*.${processor}.co`, `test/data/codeobjects/*.${processor}.*co`], {
    cwd: ROOT,
  });

  test(`${title} code objects: every instruction, as llvm-objdump prints it`, {
    skip: instructionCount === undefined,
  }, () => {
    let count = 0;
    const differences: string[] = [];
    for (const file of codeObjects) {
      const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
      const listing = execFileSync('llvm-objdump-19', ['--disassemble', file], options);
      for (const [, text, address, bytes] of listing.matchAll(/^\t(.+?)\s+\/\/ ([0-9A-F]+): ([0-9A-F ]+)/gm)) {
        // Zeros behind a function: no instruction, which LLVM has a name for from gfx10 on.
        if (text === 'v_illegal') continue;
        count++;
        const ours = textOf(
          bytes!
            .trim()
            .split(' ')
            .map((word) => Number.parseInt(word, 16)),
          subject,
        );
        if (ours !== text) differences.push(`${file} ${address}: ${ours}, expected ${text}`);
      }
    }
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(count >= instructionCount!, `${count} instructions in ${codeObjects.length} files`);
  });

  test(`${title} samples of every encoding of every instruction`, () => {
    const samples = encodingSamples(24, 1, processor);
    const encodings = samples.map(({ words }) => words);
    const { accepted, differences } = compareWithLlvm(subject, encodings, isShown);
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > 15_000 && accepted > samples.length / 3, `${accepted} of ${samples.length} accepted`);
  });

  test(`${title} immediates that are spelled: counters, messages, registers, index modes, lane patterns`, () => {
    const r = random(2);
    const values = [...Array.from({ length: 1024 }, (_, i) => i), ...Array.from({ length: 1024 }, () => r(65536))];
    const encodings = [
      ...immediates.flatMap((name) => values.map((simm16) => encode(name, { simm16 }, undefined, processor))),
      ...['s_getreg_b32', 's_setreg_b32'].flatMap((name) =>
        values.map((simm16) => encode(name, { simm16, sdst: 5 }, undefined, processor)),
      ),
      ...values.map((simm16) => [...encode('s_setreg_imm32_b32', { simm16 }, undefined, processor), simm16]),
      ...(subject.byte
        ? Array.from({ length: 256 }, (_, value) => encode(...subject.byte!(value), undefined, processor))
        : []),
      ...Array.from({ length: 65536 / 16 }, (_, i) => i * 16 + r(16)).map((offset) =>
        encode('ds_swizzle_b32', { vdst: 1, addr: 2, offset }, undefined, processor),
      ),
    ];
    const { accepted, differences } = compareWithLlvm(subject, encodings);
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > encodings.length * 0.9, `${accepted} of ${encodings.length} accepted`);
  });

  test(`${title} random words`, () => {
    const r = random(3);
    const words = Array.from({ length: 20_000 }, () => [r(2 ** 32), r(2 ** 32)]).filter(([first]) => !isSdwa(first!));
    const { accepted, differences } = compareWithLlvm(subject, words, isShown);
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > words.length * 0.4, `${accepted} of ${words.length} accepted`);
  });
}

/** Of 96 and 64 bits wide vector instructions there are few among random words. */
const VECTOR_PREFIXES = [0x7c000000, 0x7e000000, 0xc8000000, 0xcc000000, 0xcd000000, 0xd4000000];

for (const subject of SUBJECTS.filter(({ processor }) => processor === 'gfx1100')) {
  test(`${subject.processor} wave${subject.waveSize} random words of vector instructions`, () => {
    const r = random(3);
    const words = Array.from({ length: 20_000 }, (_, i) => {
      const prefix = VECTOR_PREFIXES[i % VECTOR_PREFIXES.length]!;
      return [(prefix | r(2 ** 26)) >>> 0, r(2 ** 32), r(2 ** 32), r(2 ** 32)];
    });
    const { accepted, differences } = compareWithLlvm(subject, words, (text) => text.startsWith('v_'));
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > 2_000, `${accepted} of ${words.length} accepted`);
  });
}
