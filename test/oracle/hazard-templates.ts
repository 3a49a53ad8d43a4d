/**
 * Instructions of LLVM's machine ir with placeholders, of which random code is made: `{v}`, `{v2}`, `{v16}`
 * are groups of VGPRs, `{a4}` is one of AGPRs, `{s}` and `{s2}` are groups of SGPRs. Every placeholder is
 * drawn anew; one with a number behind a colon is the same wherever it stands.
 */

const ARITHMETIC: readonly string[] = [
  '{v} = V_MOV_B32_e32 {v}, implicit $exec',
  '{v} = V_MOV_B32_e32 {s}, implicit $exec',
  '{v} = V_ADD_U32_e64 {v}, {v}, 0, implicit $exec',
  '{v} = V_EXP_F32_e32 {v}, implicit $mode, implicit $exec',
  '{v} = V_RCP_F32_e32 {v}, implicit $mode, implicit $exec',
  '{v2} = V_LSHLREV_B64_e64 {s}, {v2}, implicit $exec',
];

const MASKS: readonly string[] = [
  '{v} = V_CNDMASK_B32_e64 0, {v}, 0, {v}, {s2}, implicit $exec',
  '{v} = V_CNDMASK_B32_e32 {v}, {v}, implicit $vcc, implicit $exec',
  '{s2} = V_CMP_EQ_U32_e64 {v}, {v}, implicit $exec',
  'V_CMP_EQ_U32_e32 {v}, {v}, implicit-def $vcc, implicit $exec',
  '{v} = V_DIV_FMAS_F32_e64 0, {v}, 0, {v}, 0, {v}, 0, 0, implicit $mode, implicit $vcc, implicit $exec',
];

const SCALARS: readonly string[] = [
  '{s} = S_MOV_B32 {s}',
  '{s} = S_ADD_I32 {s}, {s}, implicit-def $scc',
  '{s2} = S_AND_B64 {s2}, {s2}, implicit-def $scc',
  '$vcc = S_MOV_B64 {s2}',
  '{s2} = S_MOV_B64 $vcc',
];

const LANES: readonly string[] = [
  '{s} = V_READLANE_B32 {v}, {s}',
  '{v:1} = V_WRITELANE_B32 {s:2}, {s:2}, {v:1}',
  '{s} = V_READFIRSTLANE_B32 {v}, implicit $exec',
  '{v:1} = V_MOV_B32_dpp {v:1}, {v}, 273, 15, 15, 0, implicit $exec',
];

const MEMORY: readonly string[] = [
  'GLOBAL_STORE_DWORD {v2}, {v}, 0, 0, implicit $exec',
  'GLOBAL_STORE_DWORDX4 {v2}, {v4}, 0, 0, implicit $exec',
  'GLOBAL_STORE_DWORDX3 {v2}, {v3}, 0, 0, implicit $exec',
  'GLOBAL_STORE_DWORD_SADDR {v}, {v}, {s2}, 0, 0, implicit $exec',
  '$vgpr40 = GLOBAL_LOAD_DWORD_SADDR {s2}, {v}, 0, 0, implicit $exec',
  'BUFFER_STORE_DWORDX4_OFFSET {v4}, {s4}, 0, 0, 0, 0, implicit $exec',
  'BUFFER_STORE_DWORDX4_OFFSET {v4}, {s4}, {s}, 0, 0, 0, implicit $exec',
  'DS_WRITE_B32_gfx9 {v}, {v}, 0, 0, implicit $exec',
];

const GFX9: readonly string[] = [
  'V_CMPX_EQ_U32_e32 {v}, {v}, implicit-def $exec, implicit-def $vcc, implicit $exec',
  '$m0 = S_MOV_B32 {s}',
  'S_SENDMSG 1, implicit $exec, implicit $m0',
  'DS_WRITE_ADDTID_B32 {v}, 0, 0, implicit $m0, implicit $exec',
  'S_SETREG_B32 {s}, 1, implicit-def $mode, implicit $mode',
  '{s} = S_GETREG_B32 1, implicit $mode',
  '{s} = S_GETREG_B32 2049, implicit $mode',
  '{v:1} = V_ADD_U16_sdwa 0, {v}, 0, {v}, 0, 1, 2, 6, 6, implicit $exec, implicit {v:1}(tied-def 0)',
  '{v} = V_FMA_F16_gfx9_e64 8, {v}, 0, {v}, 0, {v}, 0, 0, 0, implicit $mode, implicit $exec',
  '{a} = V_ACCVGPR_WRITE_B32_e64 {v}, implicit $exec',
  '{v} = V_ACCVGPR_READ_B32_e64 {a}, implicit $exec',
];

const mfma = (name: string, d: string, factor: string): readonly string[] => [
  `{${d}:1} = V_MFMA_${name}_vgprcd_e64 {${factor}}, {${factor}}, {${d}:1}, 0, 0, 0, implicit $mode, implicit $exec`,
  `{${d}} = V_MFMA_${name}_vgprcd_e64 {${factor}}, {${factor}}, {${d}}, 0, 0, 0, implicit $mode, implicit $exec`,
];

const MATRICES: readonly string[] = [
  ...mfma('F32_4X4X1F32', 'v4', 'v'),
  ...mfma('F32_4X4X4F16', 'v4', 'v2'),
  ...mfma('F32_16X16X4F32', 'v4', 'v'),
  ...mfma('F32_16X16X16F16', 'v4', 'v2'),
  ...mfma('F32_16X16X1F32', 'v16', 'v'),
  ...mfma('F32_32X32X2F32', 'v16', 'v'),
  ...mfma('F32_32X32X8F16', 'v16', 'v2'),
  ...mfma('F64_4X4X4F64', 'v2', 'v2'),
  ...mfma('F64_16X16X4F64', 'v8', 'v2'),
  '{a4} = V_MFMA_F32_4X4X1F32_e64 {v}, {v}, {a4}, 0, 0, 0, implicit $mode, implicit $exec',
  '{v} = V_DOT4_I32_I8 0, {v}, 0, {v}, 0, {v}, 0, 0, 0, 0, 0, implicit $exec',
  '{v} = V_DOT2_F32_F16 0, {v}, 0, {v}, 0, {v}, 0, 0, 0, 0, 0, implicit $mode, implicit $exec',
  '{v2} = V_FMA_F64_e64 0, {v2}, 0, {v2}, 0, {v2}, 0, 0, implicit $mode, implicit $exec',
];

const GFX942: readonly string[] = [
  ...mfma('I32_16X16X32I8', 'v4', 'v2'),
  ...mfma('I32_32X32X16I8', 'v16', 'v2'),
  ...mfma('F32_16X16X8XF32', 'v4', 'v2'),
];

/** Twice as often as others: few pairs of them meet. */
const RDNA: readonly string[] = [
  '{v} = V_EXP_F32_e32 {v}, implicit $mode, implicit $exec',
  '{v} = V_FMA_F32_e64 0, {v}, 0, {v}, 0, {v}, 0, 0, implicit $mode, implicit $exec',
  '{v} = V_ADD_F32_e32 {v}, {v}, implicit $mode, implicit $exec',
  '{v2} = V_ADD_F64_e64 0, {v2}, 0, {v2}, 0, 0, implicit $mode, implicit $exec',
  'V_CMPX_EQ_U32_nosdst_e32 {v}, {v}, implicit-def $exec, implicit $exec',
  '{v:1} = V_PERMLANE16_B32_e64 0, {v}, 0, {s}, 0, {s}, {v:1}, 0, implicit $exec',
  '{v:1} = V_PERMLANEX16_B32_e64 0, {v}, 0, {s}, 0, {s}, {v:1}, 0, implicit $exec',
  '{s} = V_READFIRSTLANE_B32 {v}, implicit $exec',
];

const WAVE64: readonly string[] = [
  '$exec = S_MOV_B64 {s2}',
  '$exec = S_AND_B64 $exec, {s2}, implicit-def $scc',
  '{s2} = S_AND_SAVEEXEC_B64 {s2}, implicit-def $exec, implicit-def $scc, implicit $exec',
  '{v} = V_CNDMASK_B32_e64 0, {v}, 0, {v}, {s2}, implicit $exec',
  '{v} = V_CNDMASK_B32_e32 {v}, {v}, implicit $vcc, implicit $exec',
  'V_CMP_EQ_U32_e32 {v}, {v}, implicit-def $vcc, implicit $exec',
  '$vcc = S_MOV_B64 {s2}',
  '{s2} = S_MOV_B64 $vcc',
];

const wmma = (name: string, d: string, factor: string): readonly string[] => [
  `{${d}:1} = ${name} 8, {${factor}}, 8, {${factor}}, 8, {${d}:1}, 0, 0, implicit $exec`,
];

const LDS_DIRECT = Array<string>(2).fill('{v} = LDS_DIRECT_LOAD 15, implicit $m0, implicit $exec');
const LDS_DIRECT_12 = Array<string>(2).fill('{v} = DS_DIRECT_LOAD 15, 1, implicit $m0, implicit $exec');
const WMMA_32 = wmma('V_WMMA_F32_16X16X16_F16_twoaddr_w32', 'v8', 'v8');
const WMMA_64 = wmma('V_WMMA_F32_16X16X16_F16_twoaddr_w64', 'v4', 'v8');
/** A move of a register to itself is what LLVM inserts. */
const GFX11: readonly string[] = [...ARITHMETIC.slice(1), ...SCALARS.slice(0, 3), ...MEMORY.slice(0, 4), ...RDNA];

const FORWARDED: readonly string[] = [
  '{v} = V_ADD_F32_e32 {v}, {v}, implicit $mode, implicit $exec',
  '{v} = V_FMA_F32_e64 0, {v}, 0, {v}, 0, {v}, 0, 0, implicit $mode, implicit $exec',
  '{v2} = V_ADD_F64_e64 0, {v2}, 0, {v2}, 0, 0, implicit $mode, implicit $exec',
  '{v} = V_EXP_F32_e32 {v}, implicit $mode, implicit $exec',
  '$exec = S_MOV_B64 {s2}',
  '$exec = S_AND_B64 $exec, {s2}, implicit-def $scc',
];

const COMMON = [...ARITHMETIC, ...MASKS, ...SCALARS, ...LANES, ...MEMORY];

/** The instructions of a processor that take part in its hazards; matrix products more often than others. */
export const HAZARD_TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  gfx90a: [...COMMON, ...GFX9, ...MATRICES],
  gfx942: [...COMMON, ...GFX9, ...MATRICES, ...GFX942],
  'gfx1100 wave32': [...GFX11, ...LDS_DIRECT, ...WMMA_32],
  'gfx1100 wave64': [...GFX11, ...WAVE64, ...LDS_DIRECT, ...WMMA_64],
  // Results from both sides of a change of EXEC meet often there.
  'gfx1100 wave64 exec': [...FORWARDED, ...FORWARDED.slice(0, 2)],
  'gfx1150 wave64 exec': [...FORWARDED, ...LDS_DIRECT],
  'gfx1150 wave64': [...GFX11, ...WAVE64, ...LDS_DIRECT, ...WMMA_64],
  // Instructions of 64 bits have other names there.
  'gfx1200 wave32': [...GFX11.filter((each) => !/64_e64/.test(each)), ...LDS_DIRECT_12],
};

const group = (file: string, first: number, count: number): string =>
  `$${Array.from({ length: count }, (_, i) => `${file}${first + i}`).join('_')}`;

/** A template with registers; `random` gives numbers below its argument. */
export function filled(template: string, random: (below: number) => number): string {
  const chosen = new Map<string, string>();
  return template.replace(/\{([vas])(\d*)(:\d)?\}/g, (text, file: string, width: string) => {
    const known = text.includes(':') ? chosen.get(text) : undefined;
    if (known !== undefined) return known;
    const count = Number(width || 1);
    const alignment = file === 's' ? (count > 2 ? 4 : count) : count > 1 ? 2 : 1;
    const first = random(Math.ceil(12 / alignment)) * alignment;
    const made = group(file === 's' ? 'sgpr' : file === 'a' ? 'agpr' : 'vgpr', first, count);
    chosen.set(text, made);
    return made;
  });
}
