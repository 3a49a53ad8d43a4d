import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { coverageTable, REFUSED } from './coverage.test-support.ts';
import { formOf } from './table.ts';

const FILE = path.resolve(import.meta.dirname, '../../../docs/ptx-coverage.md');

test('docs/ptx-coverage.md says what there is; UPDATE_EXPECTED=1 writes it', () => {
  if (process.env['UPDATE_EXPECTED']) writeFileSync(FILE, coverageTable());
  assert.equal(readFileSync(FILE, 'utf8'), coverageTable());
});

/** All that clang 19 writes for C, without what README.md names as missing. */
const BASE = `abs.s32 activemask.b32 add.s32 add.rn.f32 add.rn.f64 add.cc.s64 addc.s64 and.b32 and.pred atom.global.add.u32 atom.cas.b64
bar.sync bar.warp.sync bfe.u32 bfi.b32 bra bra.uni brev.b32 brkpt clz.b64 copysign.f32 cvt.rn.f32.u64 cvta.to.global.u64 cvta.local.u64
div.rn.f64 div.s32 exit fence.acq_rel.sys fma.rn.f32 isspacep.shared ld.param.u64 ld.volatile.global.u32 ld.global.nc.v4.f32 ld.u8 mad.lo.s32
match.any.sync.b32 max.s64 membar.sys min.f32 mov.u64 mul.wide.u32 nanosleep.u32 neg.s32 not.b64 or.b64 popc.b32 prmt.b32 rcp.rn.f32 rem.u64 ret
selp.f64 setp.lt.s32 setp.neu.f32 shf.l.wrap.b32 shfl.sync.idx.b32 shl.b64 shr.s16 sqrt.rn.f32 st.local.v2.u32 st.shared.f32 sub.s16 subc.s64 trap
vote.sync.ballot.b32 xor.b16 ld.relaxed.sys.b32 ld.acquire.sys.global.u32 st.release.sys.b32 atom.relaxed.sys.global.cas.b32`;

test('the instructions that clang writes for C have rows', () => {
  const missing = BASE.split(/\s+/).filter((opcode) => formOf(opcode) === undefined);
  assert.deepEqual(missing, []);
  for (const opcode of ['add.u33', 'add', 'mov.u32.u32', 'tex.1d', '']) assert.equal(formOf(opcode), undefined, opcode);
});

test('what the table calls refused has no row', () => {
  for (const [, opcode] of REFUSED) assert.equal(formOf(opcode), undefined, opcode);
});
