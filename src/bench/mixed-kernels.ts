/** Kernels of any length, for what it costs to compile code that was never compiled. */
import { assembledImage, kernelSource } from './assembled-kernel.ts';
import type { KernelImage } from './kernel-runner.ts';
import type { BenchmarkLaunch } from './kernels/kernel-benchmark.ts';

/** Instructions as compilers mix them, and what is in front of each run of them: a forward branch. */
interface Mixture {
  readonly branch: (label: string, register: () => number) => readonly string[];
  readonly instructions: readonly string[];
}

const AMDGPU: Mixture = {
  branch: (label, register) => [`s_cmp_lg_u32 s${register()}, s${register()}`, `s_cbranch_scc1 ${label}\n${label}:`],
  instructions: [
    'v_fma_f32 vD, vA, vB, vC',
    'v_add_u32_e32 vD, vA, vB',
    'v_mul_f32_e32 vD, vA, vB',
    's_add_u32 sD, sA, sB',
    'v_xor_b32_e32 vD, vA, vB',
    'v_lshlrev_b32_e32 vD, 3, vA',
    'v_cmp_lt_u32_e32 vcc, vA, vB',
    'v_cndmask_b32_e32 vD, vA, vB, vcc',
    'v_add_f32_e32 vD, sA, vB',
    's_and_b32 sD, sA, sB',
    'v_mul_lo_u32 vD, vA, vB',
    'v_max_f32_e32 vD, vA, vB',
    'v_bfe_u32 vD, vA, 4, 8',
    'v_mad_u32_u24 vD, vA, vB, vC',
  ],
};

const PTX: Mixture = {
  branch: (label, register) => [`setp.ne.u32 %p0, %u${register()}, 7;`, `@%p0 bra ${label};\n${label}:`],
  instructions: [
    'fma.rn.f32 %fD, %fA, %fB, %fC;',
    'add.u32 %rD, %rA, %rB;',
    'mul.rn.f32 %fD, %fA, %fB;',
    'add.u32 %uD, %uA, %uB;',
    'xor.b32 %rD, %rA, %rB;',
    'shl.b32 %rD, %rA, 3;',
    'setp.lt.u32 %p1, %rA, %rB;',
    'selp.b32 %rD, %rA, %rB, %p1;',
    'add.rn.f32 %fD, %fA, %fB;',
    'and.b32 %uD, %uA, %uB;',
    'mul.lo.u32 %rD, %rA, %rB;',
    'max.f32 %fD, %fA, %fB;',
    'bfe.u32 %rD, %rA, 4, 8;',
    'mad.lo.u32 %rD, %rA, %rB, %rC;',
  ],
};

/** Registers of each kind that it computes with. */
const REGISTERS = 32;

/**
 * About so many instructions of straight-line code with forward branches; another seed has no function in
 * common.
 */
function mixedBody({ branch, instructions: mixture }: Mixture, instructions: number, seed: number): string {
  const lines: string[] = [];
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 27;
  };
  for (let i = 0; lines.length < instructions - 1; i++) {
    if (i % mixture.length === 0) lines.push(...branch(`l${i}`, next));
    lines.push(mixture[i % mixture.length]!.replaceAll(/[A-D]\b/g, () => `${next()}`));
  }
  return lines.join('\n');
}

/** `%u` are the same for all lanes; the others are not. */
function ptxText(instructions: number, seed: number): string {
  const all = (line: (register: number) => string): string[] => Array.from({ length: REGISTERS }, (_, i) => line(i));
  const first = [
    'mov.u32 %r0, %tid.x;',
    ...all((i) => `mov.u32 %u${i}, ${i};`),
    ...all((i) => `add.u32 %r${i}, %r0, ${i};`),
    ...all((i) => `cvt.rn.f32.u32 %f${i}, %r${i};`),
  ];
  const last = [
    ...all((i) => `add.u32 %r0, %r0, %r${i};`),
    ...all((i) => `add.u32 %r0, %r0, %u${i};`),
    ...all((i) => `add.rn.f32 %f0, %f0, %f${i};`),
    ...['cvt.rzi.u32.f32 %r1, %f0;', 'add.u32 %r0, %r0, %r1;', 'ld.param.u64 %a, [out];'],
    ...['st.global.u32 [%a], %r0;', 'ret;'],
  ];
  const body = mixedBody(PTX, instructions - first.length - last.length + 1, seed);
  return `.version 7.0
.target sm_70
.address_size 64
.visible .entry mixed(.param .u64 out)
{
.reg .pred %p<2>;
.reg .b32 %r<${REGISTERS}>, %u<${REGISTERS}>;
.reg .f32 %f<${REGISTERS}>;
.reg .b64 %a;
${[...first, body, ...last].join('\n')}
}
`;
}

export type CompiledTarget = 'gfx90a' | 'sm_70';

interface MixedKernel {
  /** Of so many instructions. */
  readonly image: (instructions: number, seed: number) => KernelImage;
  readonly launch: BenchmarkLaunch;
}

/** Kernels `mixed`. */
export const MIXED_KERNELS: Readonly<Record<CompiledTarget, MixedKernel>> = {
  gfx90a: {
    image: (instructions, seed) =>
      assembledImage(kernelSource('mixed', mixedBody(AMDGPU, instructions, seed)), `${instructions} instructions`),
    launch: { grid: [64], workgroup: [64], args: [] },
  },
  sm_70: {
    image: (instructions, seed) => ({
      bytes: new TextEncoder().encode(ptxText(instructions, seed)),
      name: `${instructions} instructions`,
    }),
    launch: { grid: [64], workgroup: [64], args: [{ sizeBytes: 4 }] },
  },
};
