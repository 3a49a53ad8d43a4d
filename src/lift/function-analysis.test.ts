import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assembleFile } from '../assembler/assemble-file.ts';
import { parseElf } from '../elf/elf.ts';
import { analyzeFunction } from './function-analysis.ts';

const ADDRESS = 0x7f00_0001_0000n;

function analyze(
  source: string,
  { processor = 'gfx90a', isKernel = false, memory = {} as Record<string, number> } = {},
) {
  const elf = parseElf(assembleFile(source, { processor }), 'test');
  const bytes = elf.sectionBytes(elf.sectionNamed('.text')!);
  const readConstant = (address: bigint): number | undefined => memory[`${address - ADDRESS}`];
  return analyzeFunction({ bytes, address: ADDRESS, processor, waveSize: 64, readConstant }, isKernel);
}

const targets = (source: string, options = {}) =>
  analyze(source, options).calls.map(({ target }) => (target === undefined ? undefined : Number(target - ADDRESS)));

const RETURN = '\n s_setpc_b64 s[30:31]\n';
const CALL = ' s_swappc_b64 s[30:31], s[4:5]\n';

test('registers up to the highest that is named', () => {
  const { vgprCount, agprCount, sgprCount } = analyze(
    `v_add_f64 v[6:7], v[0:1], v[2:3]\n v_accvgpr_write_b32 a3, v0\n s_mov_b64 s[40:41], vcc${RETURN}`,
  );
  assert.deepEqual([vgprCount, agprCount, sgprCount], [8, 4, 42]);
});

test('a call is resolved through pc, additions and the offset table', () => {
  assert.deepEqual(
    targets(`s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, 0x1000\n s_addc_u32 s5, s5, 0\n${CALL}${RETURN}`),
    [0x1004],
  );
  const slot = `s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, 0xfc\n s_addc_u32 s5, s5, 0\n s_load_dwordx2 s[4:5], s[4:5], 0x0\n`;
  const entry = ADDRESS + 0x2340n;
  const memory = { 256: Number(entry & 0xffffffffn), 260: Number(entry >> 32n) };
  assert.deepEqual(targets(`${slot}${CALL}${RETURN}`, { memory }), [0x2340]);
  assert.deepEqual(targets(`${slot}${CALL}${RETURN}`), [undefined]);
});

test('a target behind a carry, and one below the code', () => {
  const far = `s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, 0xffffff00\n s_addc_u32 s5, s5, -1\n${CALL}${RETURN}`;
  assert.deepEqual(targets(far), [4 - 0x100]);
});

test('where two ways meet with different targets, the target is not known', () => {
  const first = 's_getpc_b64 s[4:5]\n s_add_u32 s4, s4, 0x100\n s_addc_u32 s5, s5, 0\n';
  const choice = `${first} s_cbranch_scc0 1f\n s_add_u32 s4, s4, 0x100\n1:\n${CALL}${RETURN}`;
  assert.deepEqual(targets(choice), [undefined]);
  assert.deepEqual(targets(`${first} s_cbranch_scc0 1f\n s_nop 0\n1:\n${CALL}${RETURN}`), [0x104]);
});

test('a call clobbers what the callee need not keep', () => {
  const twice = (pair: string): string =>
    `s_getpc_b64 ${pair}\n s_swappc_b64 s[30:31], ${pair}\n s_swappc_b64 s[30:31], ${pair}\n${RETURN}`;
  assert.deepEqual(targets(twice('s[4:5]')), [4, undefined]);
  assert.deepEqual(targets(twice('s[34:35]')), [4, 4]);
});

test('a jump to another function is a call, one inside is not, one to the return address is the end', () => {
  assert.deepEqual(
    targets('s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, 0x1000\n s_addc_u32 s5, s5, 0\n s_setpc_b64 s[4:5]'),
    [0x1004],
  );
  assert.deepEqual(
    targets(`s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, 12\n s_addc_u32 s5, s5, 0\n s_setpc_b64 s[4:5]\n${RETURN}`),
    [],
  );
  assert.deepEqual(targets('s_setpc_b64 s[6:7]'), [undefined]);
});

test('stack: frames, what lies above them, and where calls find the pointer', () => {
  // gfx90a counts the bytes of 64 lanes, CDNA3 those of one.
  const frame = analyze(`s_addk_i32 s32, 0x400\n s_getpc_b64 s[4:5]\n${CALL} s_addk_i32 s32, 0xfc00${RETURN}`);
  assert.deepEqual([frame.stackBytes, frame.isStackKnown, frame.calls[0]?.stackBytes], [16, true, 16]);
  const flat = analyze(`s_add_i32 s32, s32, 48\n s_getpc_b64 s[4:5]\n${CALL}${RETURN}`, { processor: 'gfx942' });
  assert.deepEqual([flat.stackBytes, flat.calls[0]?.stackBytes], [48, 48]);
  const spill = analyze(`buffer_store_dword v0, off, s[0:3], s32 offset:100${RETURN}`);
  assert.deepEqual([spill.stackBytes, spill.isStackKnown], [104, true]);
  const object = analyze(`v_lshrrev_b32_e64 v0, 6, s32${RETURN}`);
  assert.equal(object.isStackKnown, false);
  const dynamic = analyze(`s_add_i32 s32, s32, s4\n s_getpc_b64 s[4:5]\n${CALL}${RETURN}`);
  assert.deepEqual([dynamic.isStackKnown, dynamic.calls[0]?.stackBytes], [false, undefined]);
});

test('objects of a leaf function end where accesses are seen; more may lie behind them', () => {
  const measure = (source: string, processor = 'gfx90a') => {
    const { stackBytes, isStackKnown } = analyze(`${source}${RETURN}`, { processor });
    return [stackBytes, isStackKnown];
  };
  const above = 'v_lshrrev_b32_e64 v0, 6, s32\n v_add_u32_e32 v2, 0x1000, v0\n v_mov_b32_e32 v3, 0\n';
  assert.deepEqual(measure(`${above} flat_store_dwordx2 v[2:3], v[4:5]`), [0x1008, false]);
  assert.deepEqual(measure(`${above} flat_store_dword v[4:5], v2`), [0x1004, false]);
  const flat = 's_add_i32 s4, s32, 0x2000\n v_mov_b32_e32 v2, s4\n scratch_store_dword v2, v1, off';
  assert.deepEqual(measure(flat, 'gfx942'), [0x2004, false]);
  // A spill beside an object does not show where the object ends.
  const spill = 'v_lshrrev_b32_e64 v0, 6, s32\n buffer_store_dword v1, off, s[0:3], s32 offset:100';
  assert.deepEqual(measure(spill), [104, false]);
});

test('the loop that fills an object of a leaf function shows where it ends', () => {
  const fill = (end: string, processor = 'gfx942') => {
    const loop = `s_mov_b32 s4, 0\n1:\n s_add_i32 s5, s32, s4\n v_mov_b32_e32 v2, s5\n v_mov_b32_e32 v3, 0\n flat_store_dword v[2:3], v4\n s_add_i32 s4, s4, 4\n s_cmp_lt_i32 s4, ${end}\n s_cbranch_scc1 1b`;
    return analyze(`${loop}${RETURN}`, { processor }).stackBytes;
  };
  assert.equal(fill('60000'), 60_000);
  assert.equal(fill('s9'), 4);
  assert.equal(fill('-1'), 4);
  const endless = analyze(`v_mov_b32_e32 v0, s32\n1:\n s_nop 0\n s_branch 1b${RETURN}`, { processor: 'gfx942' });
  assert.deepEqual([endless.stackBytes, endless.isStackKnown], [4, false]);
});

test('a kernel sets the stack pointer to the end of its frame', () => {
  const kernel = analyze(`s_movk_i32 s32, 0x800\n s_getpc_b64 s[4:5]\n${CALL} s_endpgm`, { isKernel: true });
  assert.deepEqual([kernel.calls[0]?.stackBytes, kernel.isStackKnown], [32, true]);
});

test('code may run or branch into what follows it; a call at the end does not return', () => {
  const through = analyze('s_nop 0');
  assert.deepEqual([through.fallsThrough, through.calls], [true, []]);
  const away = analyze(`s_cbranch_scc0 0x100${RETURN}`);
  assert.deepEqual([away.fallsThrough, away.calls[0]?.target], [false, ADDRESS + 4n + 0x400n]);
  const last = analyze(`s_getpc_b64 s[4:5]\n${CALL}`);
  assert.deepEqual([last.fallsThrough, last.isStackKnown, last.calls.length], [false, true, 1]);
});

test('code that cannot be read may need every register', () => {
  for (const [processor, most] of [
    ['gfx90a', [256, 256, 102, 6]],
    ['gfx1100', [256, 0, 106, 0]],
  ] as const) {
    const bytes = Uint8Array.of(0, 0, 0x80, 0xbf, 0xff, 0xff, 0xff, 0xff, 0, 0, 0x80, 0xbf);
    const code = { bytes, address: ADDRESS, processor, waveSize: 32 as const, readConstant: () => undefined };
    const { vgprCount, agprCount, sgprCount, specialSgprCount, ...rest } = analyzeFunction({
      ...code,
      waveSize: processor === 'gfx90a' ? 64 : 32,
    });
    assert.deepEqual([vgprCount, agprCount, sgprCount, specialSgprCount], most);
    assert.deepEqual([rest.isReadable, rest.isStackKnown], [false, false]);
  }
});

test('the access decides how far the stack is used', () => {
  const top = (name: string, processor = 'gfx90a') =>
    analyze(`${name}${processor === 'gfx90a' ? ', off, s[0:3], s32 offset:100' : ', s32 offset:100'}${RETURN}`, {
      processor,
    }).stackBytes;
  assert.equal(top('buffer_load_dwordx4 v[0:3]'), 116);
  assert.equal(top('buffer_store_byte v0'), 104);
  assert.equal(top('scratch_store_dwordx2 off, v[0:1]', 'gfx942'), 108);
  assert.equal(top('scratch_load_dwordx3 v[0:2], off', 'gfx942'), 112);
});

test('SGPRs behind the numbered ones count up to gfx9', () => {
  const special = (source: string, processor = 'gfx90a') =>
    analyze(`${source}${RETURN}`, { processor }).specialSgprCount;
  assert.equal(special('s_mov_b32 s0, 1'), 0);
  assert.equal(special('s_mov_b64 vcc, 0'), 2);
  assert.equal(special('s_mov_b64 flat_scratch, 0'), 6);
  assert.equal(special('s_mov_b32 s0, 1', 'gfx942'), 6);
  assert.equal(special('s_mov_b64 vcc, 0', 'gfx1100'), 0);
});

test('code that branches everywhere is given up in time that grows with its size', () => {
  // Every label is reached with other constants: without a limit each would be followed once for each
  // register.
  const source = Array.from(
    { length: 400 },
    (_, i) => `s_movk_i32 s${i % 100}, ${i}\n s_cbranch_scc0 ${(i * 37) % 400}`,
  );
  assert.ok(analyze(`${source.join('\n')}${RETURN}`).vgprCount >= 0);
});

test('any bytes are a function', () => {
  const scalar = fc.nat(0x0bffffff).map((word) => (word | 0x80000000) >>> 0);
  const words = fc.array(fc.oneof(scalar, fc.nat(0xffffffff)), { minLength: 1, maxLength: 60 });
  for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
    fc.assert(
      fc.property(words, fc.boolean(), (code, isKernel) => {
        const bytes = new Uint8Array(Uint32Array.from(code).buffer);
        const readConstant = (address: bigint): number | undefined => (address % 8n === 0n ? 64 : undefined);
        const analysis = analyzeFunction({ bytes, address: ADDRESS, processor, waveSize: 64, readConstant }, isKernel);
        assert.ok(analysis.stackBytes >= 0 && analysis.vgprCount >= 0);
      }),
      { numRuns: 300 },
    );
  }
});
