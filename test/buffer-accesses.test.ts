/**
 * What tools say of accesses through buffers is what the emulator sees: addresses of all forms, and no access
 * of a lane whose place is behind the buffer's end.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { readTraceFile } from '../src/instrument/index.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { kernelText } from './kernel-rig.test-support.ts';
import { assertSameLines } from './line-differences.test-support.ts';
import { type KernelCase, observeNatively, runWithTools } from './tool-runs.test-support.ts';

/** Dwords of a descriptor besides the address. */
interface Buffer {
  readonly stride?: number;
  readonly swizzle?: boolean;
  readonly records: number;
  readonly word3?: number;
}

const RAW: Buffer = { records: 256 };
const RECORDS: Buffer = { stride: 16, records: 40 };
/** Groups of 16 indices. */
const SWIZZLED: Buffer = { stride: 16, swizzle: true, records: 40, word3: 1 << 21 };
/** The lane's number is added to the index. */
const BY_LANE: Buffer = { stride: 8, records: 0x1000, word3: 1 << 23 };
/** 32 bits, unsigned, on gfx9. */
const FORMATTED: Buffer = { stride: 4, records: 40, word3: (4 << 12) | (4 << 15) | 4 };

/** v0 is the work-item, v1 8 times it, v[2:3] index and offset, s12 an offset. */
const COMMON: readonly (readonly [Buffer, ...string[]])[] = [
  [
    RAW,
    'buffer_load_dword v4, v1, s[8:11], 0 offen',
    'buffer_store_dwordx4 v[4:7], v1, s[8:11], s12 offen offset:8',
    'buffer_store_byte v4, v0, s[8:11], 0 offen offset:250',
    'buffer_load_ushort v4, v1, s[8:11], 0 offen offset:2',
    'buffer_atomic_add v4, v1, s[8:11], 0 offen glc',
    'buffer_atomic_add_x2 v[4:5], v1, s[8:11], s12 offen',
    'buffer_atomic_cmpswap v[4:5], v1, s[8:11], 0 offen',
    'buffer_load_dword v4, off, s[8:11], 0 offset:4',
  ],
  [
    RECORDS,
    'buffer_load_dwordx2 v[4:5], v0, s[8:11], 0 idxen offset:4',
    'buffer_store_dword v4, v[2:3], s[8:11], s12 idxen offen',
    'buffer_atomic_umax v4, v0, s[8:11], 0 idxen',
  ],
  [
    SWIZZLED,
    'buffer_store_dwordx2 v[4:5], v[2:3], s[8:11], s12 idxen offen',
    'buffer_load_dwordx4 v[4:7], v0, s[8:11], 0 idxen',
    'buffer_atomic_or v4, v0, s[8:11], 0 idxen offset:8',
  ],
  [BY_LANE, 'buffer_load_dword v4, off, s[8:11], s12 offset:4', 'buffer_store_short v4, v3, s[8:11], 0 offen'],
];
const GFX9: typeof COMMON = [
  ...COMMON,
  [RAW, 'tbuffer_load_format_xy v[4:5], v1, s[8:11], 0 format:[BUF_DATA_FORMAT_32_32,BUF_NUM_FORMAT_UINT] offen'],
  [FORMATTED, 'buffer_load_format_x v4, v0, s[8:11], 0 idxen', 'buffer_store_format_x v4, v0, s[8:11], 0 idxen'],
  [RAW, 's_mov_b32 m0, 0', 'buffer_load_dword v1, s[8:11], 0 offen lds'],
];
const GFX11: typeof COMMON = [
  ...COMMON,
  [RAW, 'tbuffer_load_format_xy v[4:5], v1, s[8:11], 0 format:[BUF_FMT_32_32_UINT] offen'],
];

const SUFFIXES: readonly (readonly [RegExp, string])[] = [
  [/_(load|store)_dwordx4/, '_$1_b128'],
  [/_(load|store)_dwordx2/, '_$1_b64'],
  [/_(load|store)_dword/, '_$1_b32'],
  [/_store_byte/, '_store_b8'],
  [/_store_short/, '_store_b16'],
  [/_load_ushort/, '_load_u16'],
  [/atomic_add_x2/, 'atomic_add_u64'],
  [/atomic_add /, 'atomic_add_u32 '],
  [/atomic_cmpswap/, 'atomic_cmpswap_b32'],
  [/atomic_umax/, 'atomic_max_u32'],
  [/atomic_or/, 'atomic_or_b32'],
];
const nameOn = (processor: string, text: string): string =>
  processor === 'gfx1100'
    ? SUFFIXES.reduce((all, [from, to]) => all.replace(from, to), text)
    : text.replace(/ glc$/, processor === 'gfx942' ? ' sc0' : ' glc');

function descriptor(processor: string, { stride = 0, swizzle, records, word3 = 0 }: Buffer): readonly string[] {
  const enabled = swizzle ? 2 ** (processor === 'gfx1100' ? 30 : 31) : 0;
  return [
    's_mov_b32 s8, s6',
    `s_or_b32 s9, s7, ${`0x${(stride * 0x10000 + enabled).toString(16)}`}`,
    `s_movk_i32 s10, ${records}`,
    // The offset alone is checked where there are no records (RDNA3 ISA 9.4.1).
    `s_mov_b32 s11, ${processor === 'gfx1100' && stride === 0 ? word3 + 0x30000000 : word3}`,
  ];
}

function kernel(processor: string, groups: typeof COMMON): KernelCase {
  const lines = [
    's_load_dwordx2 s[6:7], s[0:1], 0x0',
    'v_and_b32 v0, 0x3ff, v0',
    'v_lshlrev_b32 v1, 3, v0',
    'v_mov_b32 v2, v0',
    'v_and_b32 v3, 12, v1',
    's_movk_i32 s12, 0x10',
    's_waitcnt lgkmcnt(0)',
    ...groups.flatMap(([buffer, ...instructions]) => [...descriptor(processor, buffer), ...instructions]),
    's_waitcnt vmcnt(0)',
    's_endpgm',
  ];
  const own = processor === 'gfx1100' ? ['.amdhsa_wavefront_size32 1'] : [];
  const directives = ['.amdhsa_kernarg_size 8', '.amdhsa_group_segment_fixed_size 1024', ...own];
  const text = kernelText('k', lines.map((line) => nameOn(processor, line)).join('\n'), directives);
  const source = processor === 'gfx1100' ? text.replace(/ \.amdhsa_accum_offset .*\n/, '') : text;
  const bytes = linkCodeObject([{ bytes: assembleFile(source, { processor }), name: 'k.o' }]);
  const launch = () => ({ grid: [64], workgroup: [64], args: [{ sizeBytes: 2 ** 16 }] });
  return { file: `buffers.${processor}.co`, processor, benchmark: { name: 'k', launch }, bytes };
}

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  for (const [index, group] of (processor === 'gfx1100' ? GFX11 : GFX9).entries()) {
    test(`${processor}: accesses of lanes through buffers, ${index}: ${group[1]}`, async () => {
      const each = kernel(processor, [group]);
      const { accesses: native, image: nativeImage } = observeNatively(each);
      const { reports, image } = await runWithTools(each, 'memory-trace:file=x', 'coalescing:segment=64');
      const [trace, coalescing] = reports.map(({ result, coverage }) => {
        assert.deepEqual(coverage.refused, {});
        assert.deepEqual([result.summary.lost, result.summary['accesses without a known address']], [0n, 0]);
        return result;
      });
      const { points, records } = readTraceFile(trace!.files![0]!.bytes, 'x');
      const found = records.map(({ point, lane, value }) => {
        const { address: pc } = points[point]!;
        return { pc, lane, address: value };
      });
      assertSameLines(image.accessText(found), nativeImage.accessText(native));
      assert.ok(found.length > 0);
      const lanes = coalescing!.tables[0]!.rows.reduce((sum, row) => sum + Number(row[6]), 0);
      assert.equal(lanes, native.filter(({ space }) => space === 'global').length);
    });
  }
}

test('lanes behind the end of a buffer access nothing', async () => {
  const each = kernel('gfx90a', [[RAW, COMMON[0]![1]!]]);
  const { reports } = await runWithTools(each, 'coalescing:segment=64');
  const { rows } = reports[0]!.result.tables[0]!;
  // 256 bytes in steps of 8: 32 lanes in 4 pieces.
  assert.deepEqual(
    rows.map((row) => row.slice(5, 8)),
    [[1, 32, 4]],
  );
  // The cache line is a trait of the target.
  assert.equal((await runWithTools(each, 'coalescing')).reports[0]!.result.summary['segmentBytes'], 128);
  assert.deepEqual(
    ['gfx900', 'gfx90c', 'gfx908', 'gfx9-generic', 'gfx90a', 'gfx942', 'gfx1030', 'gfx1200'].map(
      (processor) => targetFor(processor).cacheLineBytes,
    ),
    [64, 64, 64, 64, 128, 128, 128, 128],
  );
});
