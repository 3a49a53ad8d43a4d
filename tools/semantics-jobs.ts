/**
 * Writes states for every row with semantics of a target, without results, one JSON object a line: input for an emulator that is
 * independent of ours (CONTRIBUTING.md, "Recorded states").
 *
 *   node tools/semantics-jobs.ts PROCESSOR WAVESIZE [NAME...]
 */
import { encodingsOf, type Encoding } from '../src/isa/amdgpu/decode.ts';
import { encodeFields } from '../src/isa/amdgpu/encode.ts';
import { ROWS } from '../src/isa/amdgpu/instructions/index.ts';
import { dwordsOf, type OperandSpec, type OperandType } from '../src/isa/amdgpu/row.ts';
import { targetFor } from '../src/isa/amdgpu/targets.ts';
import { random, type Random } from '../test/oracle/encoding-samples.ts';
import { hexOfDwords, type Recording } from '../test/semantics/recorded.ts';

const COLUMNS = 32;
const DEFAULT_MODE = 0x3f0;

/** First register of each operand field; far enough apart for the widest operand. */
const REGISTERS: Readonly<Record<string, number>> = {
  vdst: 40, sdst: 40, sdata: 40, src0: 8, src1: 12, src2: 16, ssrc0: 8, ssrc1: 12, addr: 20, vaddr: 20, data: 24, data0: 24, vdata: 24, data1: 28,
  sbase: 16, srsrc: 24, soffset: 28, saddr: 20,
};
const MASK_SOURCE = 32;

const F32 = [
  0, 0x80000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0490fdb, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 1, 0x80000001, 0x007fffff,
  0x00800000, 0x7f7fffff, 0xff7fffff, 0x3effffff, 0x3f000000, 0x3fc00000, 0x4b000001, 0x4f000000, 0xcf000000, 0x4effffff, 0x5f000000, 0x33800000, 0x3f7fffff, 0x42f60000,
];
const F16 = [
  0, 0x8000, 0x3c00, 0xbc00, 0x4000, 0xc248, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe12, 1, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3800, 0x3bff, 0x3e00, 0x6401, 0x1400, 0x57b0, 0x77ff,
];
const F64 = [
  0n, 1n << 63n, 0x3ff0000000000000n, 0xbff0000000000000n, 0x4000000000000000n, 0xc00921fb54442d18n, 0x7ff0000000000000n, 0xfff0000000000000n,
  0x7ff8000000000000n, 0x7ff0000000000001n, 0xfff8123456789abcn, 1n, 0x8000000000000001n, 0x000fffffffffffffn, 0x0010000000000000n, 0x7fefffffffffffffn,
  0xffefffffffffffffn, 0x3fe0000000000000n, 0x3fdfffffffffffffn, 0x41dfffffffc00000n, 0x41e0000000000000n, 0xc1e0000000000000n, 0x41efffffffe00000n, 0x4340000000000001n,
];
const INTEGERS = [
  0, 1, 2, 3, 7, 8, 15, 16, 23, 24, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000, 0xffffff, 0x7fffffff,
  0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x01234567, 0x89abcdef,
];

const word = (r: Random): number => (r(65536) * 65536 + r(65536)) >>> 0;
const pick = <T>(r: Random, values: readonly T[]): T => values[r(values.length)]!;

function dwordOf(type: OperandType, r: Random): number {
  if (type === 'f32' || type === 'v2f32') return r(4) === 0 ? word(r) : r(4) === 0 ? 0x3f000000 + r(0x1800000) : pick(r, F32);
  if (/f16$/.test(type)) return (pick(r, [...F16, r(65536), 0x3800 + r(0x1000)]) | (pick(r, [...F16, r(65536)]) << 16)) >>> 0;
  if (/16$/.test(type)) return ((pick(r, INTEGERS) & 0xffff) | (word(r) & 0xffff0000)) >>> 0;
  return r(3) === 0 ? word(r) : pick(r, INTEGERS);
}

/** Dwords of an operand value. */
function valueOf(type: OperandType, dwords: number, r: Random): number[] {
  if (type === 'f64') {
    const bits = r(3) === 0 ? (BigInt(word(r)) << 32n) | BigInt(word(r)) : r(4) === 0 ? 0x3fe0000000000000n + (BigInt(r(0x400000)) << 32n) + BigInt(word(r)) : pick(r, F64);
    return [Number(bits & 0xffffffffn), Number(bits >> 32n)];
  }
  return Array.from({ length: dwords }, () => dwordOf(type, r));
}

type Job = Omit<Recording, 'source' | 'after' | 'targets'> & { readonly destinations: readonly string[] };

function fieldsOf(encoding: Encoding, waveSize: 32 | 64): Record<string, number> {
  const values: Record<string, number> = {};
  for (const { field, type } of encoding.row.operands) {
    const name = field === 'sdst' && encoding.format.name === 'VOP3' ? 'vdst' : field;
    const located = encoding.format.fields.find((candidate) => candidate.name === name);
    const register = field === 'src2' && type === 'mask' ? MASK_SOURCE : REGISTERS[field];
    if (!located || register === undefined) continue;
    values[name] = located.width === 9 && type !== 'mask' ? 256 + register : field === 'sbase' ? register / 2 : register;
  }
  void waveSize;
  return values;
}

function job(encoding: Encoding, waveSize: 32 | 64, modifiers: Record<string, number>): Job | undefined {
  const { row, format } = encoding;
  const r = random(row.name.length * 7919 + encoding.opcode * 31 + Object.keys(modifiers).length);
  const scalar = format.name.startsWith('S');
  const registers: Record<string, string> = {};
  const destinations: string[] = [];
  const column = (count: number, make: () => number): string => hexOfDwords(Array.from({ length: count }, make));
  const fill = (spec: OperandSpec, prefix: 's' | 'v', first: number, dwords: number): void => {
    const columns = prefix === 'v' || scalar ? COLUMNS : 1;
    const values = Array.from({ length: columns }, () => valueOf(spec.type, dwords, r));
    for (let i = 0; i < dwords; i++) registers[`${prefix}${first + i}`] = hexOfDwords(values.map((value) => value[i]!));
  };
  for (const spec of row.operands) {
    if (spec.file === 'immediate') continue;
    const first = REGISTERS[spec.field];
    if (spec.type === 'address' || (first === undefined && spec.type !== 'mask')) return undefined;
    const vector = spec.file !== 'scalar';
    const dwords = dwordsOf(spec.type, waveSize);
    const hasField = format.fields.some(({ name }) => name === spec.field) || (spec.field === 'sdst' && format.name === 'VOP3');
    if (spec.type === 'mask') {
      const at = !hasField ? 106 : spec.field === 'src2' ? MASK_SOURCE : first!;
      for (let i = 0; i < dwords; i++) registers[`s${at + i}`] ??= column(1, () => word(r));
      if (spec.access !== 'read') for (let i = 0; i < dwords; i++) destinations.push(`s${at + i}`);
      continue;
    }
    fill(spec, vector ? 'v' : 's', first!, dwords);
    if (spec.access !== 'read') for (let i = 0; i < dwords; i++) destinations.push(`${vector ? 'v' : 's'}${first! + i}`);
  }
  const [exec, high] = scalar ? [word(r), waveSize === 64 ? word(r) : 0] : [0xfffffff5 & ~(1 << r(32)), 0];
  registers['exec'] ??= hexOfDwords([exec, high]);
  registers['scc'] = scalar ? Array.from({ length: COLUMNS }, () => `0000000${r(2)}`).join('') : '00000001';
  registers['s106'] ??= hexOfDwords([word(r)]);
  registers['s107'] ??= hexOfDwords([waveSize === 64 ? word(r) : 0]);
  registers['m0'] = hexOfDwords([word(r)]);
  for (const name of ['scc', 's106', 's107', 'exec']) if (!destinations.includes(name)) destinations.push(name);
  const simm = row.operands.some(({ field }) => field === 'simm16') ? { simm16: r(65536) } : {};
  const [first, second] = encodeFields(format, encoding.opcode, { ...fieldsOf(encoding, waveSize), ...simm, ...modifiers });
  const words = format.sizeBytes === 4 ? [first] : [first, second];
  if (row.operands.some(({ type }) => type === 'literal32')) words.push(dwordOf(row.operands[0]!.type, r));
  const code = words.map((each) => [0, 8, 16, 24].map((shift) => ((each >>> shift) & 255).toString(16).padStart(2, '0')).join('')).join('');
  return { name: encoding.name, code, waveSize, mode: DEFAULT_MODE, columns: scalar ? 'waves' : 'lanes', before: { registers }, destinations };
}

/** Modifiers that are recorded besides the plain form. */
function variants({ row, format }: Encoding): Record<string, number>[] {
  if (format.name !== 'VOP3' || !row.operands.some(({ field, type }) => field === 'src0' && /^f/.test(type))) return [{}];
  return [{}, { neg: 1, abs: 2 }, ...(row.operands[0]!.type.startsWith('f') && !row.flags.integerClamp ? [{ clamp: 1, neg: 2 }] : [])];
}

const [processor = 'gfx90a', size = '64', ...names] = process.argv.slice(2);
const waveSize = Number(size) as 32 | 64;
const target = targetFor(processor);
for (const row of ROWS) {
  if (!row.semantics || row.flags.terminator || (names.length > 0 && !names.includes(row.name))) continue;
  for (const encoding of encodingsOf(row, target)) {
    if (!/^(SOP|VOP(1|2|C|3|3B|3P)$)/.test(encoding.format.name)) continue;
    // The VOP3 form of a shorter instruction adds modifiers only.
    const all = variants(encoding).slice(row.format === encoding.format.name || row.flags.vop3b ? 0 : 1);
    for (const modifiers of all) {
      const made = job(encoding, waveSize, modifiers);
      if (made) process.stdout.write(`${JSON.stringify({ ...made, format: row.format })}\n`);
    }
  }
}
