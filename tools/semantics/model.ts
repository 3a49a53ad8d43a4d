/**
 * What an instruction makes of a state, by the models of this folder: none of them looks at the rows'
 * semantics.
 */
import { isFloat, type OperandType } from '../../src/isa/amdgpu/encoding/row.ts';
import type { State } from '../../test/semantics/recorded.ts';
import { CONVERSION_MODELS } from './conversions.ts';
import type { Job, Placed } from './jobs.ts';
import { arithmetic, type LaneContext, type LaneModel, type LaneModels, modeOf } from './lane-context.ts';
import { dppSource, dppWrites } from './lanes.ts';
import { type FloatType, isNan, isNegative, isZero, LAYOUTS, signBit, signed, unsigned } from './numbers.ts';
import { PACKED_MODELS } from './packed.ts';
import { namesOf, RegisterFile } from './register-file.ts';
import { SCALAR_MODELS } from './scalar.ts';
import { FLOAT_MODELS } from './vector-floats.ts';
import { INTEGER_MODELS } from './vector-integers.ts';
import { WAVE_MODELS } from './waves.ts';

const LANE_MODELS: LaneModels = { ...INTEGER_MODELS, ...FLOAT_MODELS, ...CONVERSION_MODELS, ...PACKED_MODELS };

/**
 * 16-bit results on gfx9 that leave the high half alone (LLVM's zeroesHigh16BitsOfDest lists those that do
 * not).
 */
const KEEPS_HIGH_HALF = /^v_(mad_[fui]16|fma_f16|div_fixup_f16|fma_mixlo_f16|cvt_pk_(fp|bf)8_f32)$/;

const is16 = (type: OperandType): boolean => /^(b|u|i|f|bf)16$/.test(type);
const floatType = (type: OperandType): FloatType | undefined =>
  isFloat(type) && !type.startsWith('v2') ? (type as FloatType) : undefined;
/** Registers that every recording shows, changed or not. */
const ALWAYS = ['scc', 's106', 's107'];

const laneModel = (name: string): LaneModel | undefined => {
  const plain = name.replace(/^v_cmpx_/, 'v_cmp_');
  return LANE_MODELS[plain] ?? LANE_MODELS[plain.replace('_t_f', '_tru_f')];
};

/** Which source the modifier bits of an operand field count. */
const sourceNumber = (field: string): number => ['src0', 'src1', 'src2'].indexOf(field);

function withSigns(job: Job, { spec }: Placed, value: bigint): bigint {
  const type = floatType(spec.type);
  const number = sourceNumber(spec.field);
  if (!type || number < 0 || job.encoding.format.name === 'VOP3P') return value;
  const { fields } = job;
  const set = (name: string): boolean =>
    (((fields[name] ?? 0) >> number) & 1) === 1 || fields[`${spec.field}_${name}`] === 1;
  const positive = set('abs') ? value & ~signBit(type) : value;
  return set('neg') ? positive ^ signBit(type) : positive;
}

/** The part that SDWA or op_sel reads. */
function part(job: Job, { spec }: Placed, value: bigint): bigint {
  const select = job.fields[`${spec.field}_sel`];
  const number = ['src0', 'src1', 'src2', 'vdst'].indexOf(spec.field);
  if (select !== undefined && select !== 6) {
    const [low, width] = select < 4 ? [select * 8, 8] : [(select - 4) * 16, 16];
    const bits = unsigned(width, value >> BigInt(low));
    const wide = job.fields[`${spec.field}_sext`] ? unsigned(32, signed(width, bits)) : bits;
    return is16(spec.type) ? unsigned(16, wide) : wide;
  }
  if (!is16(spec.type)) return value;
  const isHigh =
    job.encoding.format.name !== 'VOP3P' && number >= 0 && (((job.fields['op_sel'] ?? 0) >> number) & 1) === 1;
  return unsigned(16, value >> (isHigh ? 16n : 0n));
}

/** Output modifiers of a float. */
function scaledAndClamped(c: LaneContext, type: FloatType, value: bigint): bigint {
  const f = arithmetic(c, type);
  const { omod, clamp } = c.fields;
  let result = value;
  if (omod && !c.mode.ieee && f.flush.results) {
    const factor = [0n, 1n, 2n, -1n][omod]! + BigInt(LAYOUTS[type].bias);
    result = f.multiply(value, factor << BigInt(LAYOUTS[type].fraction));
    if (isZero(type, result)) result = 0n;
  }
  if (!clamp) return result;
  if (isNan(type, result)) return c.mode.dx10Clamp ? 0n : result;
  const one = BigInt(LAYOUTS[type].bias) << BigInt(LAYOUTS[type].fraction);
  return isNegative(type, result) ? 0n : result > one ? one : result;
}

/** What the register of a result of at most 32 bits holds afterwards. */
function merged(job: Job, placed: Placed, old: bigint, result: bigint): bigint {
  const { fields, encoding, target } = job;
  const { spec } = placed;
  const select = fields['dst_sel'];
  if (select !== undefined && !encoding.row.flags.noSdwaDestination) {
    if (select === 6) return result;
    const [low, width] = select < 4 ? [select * 8, 8] : [(select - 4) * 16, 16];
    const bits = unsigned(width, result);
    const mask = ((1n << BigInt(width)) - 1n) << BigInt(low);
    if (fields['dst_unused'] === 2) return (old & ~mask) | (bits << BigInt(low));
    return unsigned(32, (fields['dst_unused'] === 1 ? signed(width, bits) : bits) << BigInt(low));
  }
  if (!is16(spec.type) || placed.file === 's') return result;
  const low = unsigned(16, result);
  const high =
    ((fields['op_sel'] ?? 0) & 8 && encoding.format.name !== 'VOP3P') || encoding.row.name === 'v_fma_mixhi_f16';
  if (high) return (old & 0xffffn) | (low << 16n);
  const keeps = target.families.includes('gfx11') || KEEPS_HIGH_HALF.test(encoding.row.name);
  return keeps ? (old & 0xffff0000n) | low : low;
}

/** DPP: the lane that src0 is read from; `undefined` reads 0; `off`: the lane is not written. */
function sourceLane(job: Job, exec: bigint, lane: number): number | undefined | 'off' {
  const { fields, recording } = job;
  const isOn = (source: number): boolean => fields['fi'] === 1 || ((exec >> BigInt(source)) & 1n) === 1n;
  if (fields['dpp8'] !== undefined) {
    const source = lane - (lane % 8) + ((fields['dpp8'] >> (3 * (lane % 8))) & 7);
    return isOn(source) ? source : undefined;
  }
  if (fields['dpp_ctrl'] === undefined) return lane;
  if (!dppWrites(fields['row_mask']!, fields['bank_mask']!, lane)) return 'off';
  const source = dppSource(fields['dpp_ctrl'], lane, recording.waveSize);
  if (source !== undefined && isOn(source)) return source;
  return fields['bound_ctrl'] ? undefined : 'off';
}

function sourcesOf(
  job: Job,
  before: RegisterFile,
  operands: readonly Placed[],
  lane: number,
  from: number | undefined,
): bigint[] {
  return operands
    .filter(({ spec }) => spec.access !== 'write')
    .map((placed) => {
      const { spec, file, first, dwords, value } = placed;
      if (file === 'constant') return /16$/.test(operands[0]!.spec.type) ? value & 0xffffn : value;
      if (spec.type === 'mask') return (before.mask(first) >> BigInt(lane)) & 1n;
      const at = spec.field === 'src0' ? from : lane;
      const raw = at === undefined ? 0n : before.wide(namesOf(file, first, dwords), file === 's' ? 0 : at);
      return withSigns(job, placed, part(job, placed, raw));
    });
}

type PlacedRegister = Placed & { readonly file: 's' | 'v' | 'a' };
const isWritten = (placed: Placed): placed is PlacedRegister =>
  placed.spec.access !== 'read' && placed.spec.file !== 'immediate';

/** One instruction, or one of the two of VOPD, in all lanes that EXEC has on. */
function runLanes(
  job: Job,
  model: LaneModel,
  operands: readonly Placed[],
  before: RegisterFile,
  after: RegisterFile,
): void {
  const { recording, fields } = job;
  const { exec } = before;
  const mode = modeOf(recording.mode);
  const masks = new Map<Placed, bigint>();
  const written = operands.filter(isWritten);
  const isComparison = /^v_cmpx?_/.test(job.encoding.row.name);
  const isMasked = isComparison || written.some(({ spec }) => spec.type === 'mask');
  let condition = 0n;
  for (let lane = 0; lane < recording.waveSize; lane++) {
    if (((exec >> BigInt(lane)) & 1n) === 0n) continue;
    const from = sourceLane(job, exec, lane);
    if (from === 'off') continue;
    const vcc = ((before.mask(106) >> BigInt(lane)) & 1n) === 1n;
    const c: LaneContext = { mode, lane, processor: job.target.processor, fields, vcc };
    const made = model(c, ...sourcesOf(job, before, operands, lane, from));
    const results = typeof made === 'bigint' ? [made] : made;
    if (isComparison) condition |= results[0]! << BigInt(lane);
    if (isComparison) continue;
    for (const [i, placed] of written.entries()) {
      const { spec, file, first, dwords } = placed;
      const names = namesOf(file, first, dwords);
      if (spec.type === 'mask') {
        masks.set(placed, (masks.get(placed) ?? 0n) | (results[i]! << BigInt(lane)));
        continue;
      }
      const type = floatType(spec.type);
      const value = type && job.encoding.format.name !== 'VOPD' ? scaledAndClamped(c, type, results[i]!) : results[i]!;
      after.setWide(names, lane, dwords > 1 ? value : merged(job, placed, before.get(names[0]!, lane), value));
    }
  }
  if (!isMasked) return;
  const maskNames = (first: number): string[] => namesOf('s', first, recording.waveSize / 32);
  for (const placed of written) {
    if (placed.spec.type !== 'mask') continue;
    after.setWide(maskNames(placed.first), 0, isComparison ? condition : (masks.get(placed) ?? 0n));
  }
  if (job.encoding.row.name.startsWith('v_cmpx_')) after.exec = condition;
}

/** Registers in `after`. */
function shown(job: Job): string[] {
  const names = job.operands
    .filter(isWritten)
    .flatMap(({ file, first, dwords, spec }) =>
      namesOf(file, first, spec.type === 'mask' ? job.recording.waveSize / 32 : dwords),
    );
  return [...new Set([...names, ...ALWAYS])];
}

function vectorState(job: Job, after: RegisterFile): State {
  const columns = (name: string): number => (/^[av]/.test(name) ? job.columns : 1);
  const registers = Object.fromEntries(shown(job).map((name) => [name, after.text(name, columns(name))]));
  return { registers: { ...registers, exec: after.text('exec', 2) } };
}

function scalarState(job: Job): State | undefined {
  const { encoding, recording, operands } = job;
  const model = SCALAR_MODELS[encoding.row.name];
  if (!model) return undefined;
  const before = new RegisterFile(recording.before.registers);
  const after = before.copy();
  const { waveSize } = recording;
  const execs: bigint[] = [];
  const changesExec = /_(save|wr)exec_/.test(encoding.row.name);
  for (let column = 0; column < job.columns; column++) {
    const sources = operands
      .filter(({ spec }) => spec.access !== 'write')
      .map(({ file, first, dwords, value }) =>
        file === 'constant' ? value : before.wide(namesOf(file, first, dwords), column),
      );
    const { d, scc, exec } = model({ scc: before.get('scc', column), exec: before.exec, waveSize }, ...sources);
    for (const placed of operands.filter(isWritten))
      if (d !== undefined) after.setWide(namesOf('s', placed.first, placed.dwords), column, d);
    after.set('scc', column, scc ?? before.get('scc', column));
    // A 32-bit mask instruction in wave64 leaves the high half.
    execs.push(exec ?? before.exec);
  }
  const registers = Object.fromEntries(shown(job).map((name) => [name, after.text(name, job.columns)]));
  if (changesExec)
    registers['exec'] = execs
      .map((mask) => [mask & 0xffffffffn, mask >> 32n].map((word) => word.toString(16).padStart(8, '0')).join(''))
      .join('');
  return { registers };
}

/** Undefined when there is no model. */
export function expectedState(job: Job): State | undefined {
  const { encoding, recording, operands } = job;
  const { row } = encoding;
  if (encoding.format.name.startsWith('S')) return scalarState(job);
  const before = new RegisterFile(recording.before.registers);
  const after = before.copy();
  const wave = WAVE_MODELS[row.name];
  if (wave) {
    wave(job, before, after);
    return vectorState(job, after);
  }
  if (row.halves) {
    const split = row.halves[0].operands.length;
    for (const [i, half] of row.halves.entries()) {
      const model = laneModel(half.name);
      if (!model) return undefined;
      runLanes(job, model, i === 0 ? operands.slice(0, split) : operands.slice(split), before, after);
    }
    return vectorState(job, after);
  }
  const model = laneModel(row.name);
  if (!model) return undefined;
  runLanes(job, model, operands, before, after);
  return vectorState(job, after);
}
