/** What is wrong with instructions by themselves, and with their neighbours. */

import { solveDataFlow } from '../flow/data-flow.ts';
import type { RegisterRange } from '../ir/effects.ts';
import { followingOffset } from '../ir/step.ts';
import { overlaps } from '../isa/amdgpu/effects/operand-ranges.ts';
import { instructionClass } from '../isa/amdgpu/encoding/instruction-class.ts';
import { freesVectors } from '../isa/amdgpu/encoding/messages.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import type { CodeFlow, FlowNode } from './code-flow.ts';
import type { CodeFinding } from './finding.ts';

const registerText = (file: string, first: number, dwords: number): string =>
  `${file[0]}[${first}:${first + dwords - 1}]`;

/** Of SGPRs, pairs begin at an even one, larger groups at a multiple of 4 (CDNA2 ISA 3.6.1). */
const scalarAlignment = (dwords: number): number => (dwords > 2 ? 4 : dwords);

/**
 * Groups of registers begin where they may: those of VGPRs at an even one on CDNA2 and CDNA3 (CDNA2 ISA
 * 3.6.4). What the instruction names that does not exist is found, too.
 */
export function* operandFindings(step: AmdgpuStep): Generator<CodeFinding> {
  const { instruction, offset: address, illegal } = step;
  if (illegal !== undefined) yield { address, rule: 'illegal', text: illegal, hint: undefined };
  for (const index of instruction.row.operands.keys()) {
    if (instruction.access(index) === undefined) continue;
    const operand = instruction.operand(index);
    const dwords = instruction.dwords(index);
    if (!('register' in operand) || dwords < 2) continue;
    const { register } = operand;
    const isScalar = operand.kind === 'scalar';
    const alignment = isScalar ? scalarAlignment(dwords) : instruction.target.alignedVgprs ? 2 : 1;
    if (register % alignment === 0) continue;
    const name = registerText(isScalar ? 's' : operand.accumulator ? 'a' : 'v', register, dwords);
    yield {
      address,
      rule: 'register-alignment',
      text: `${name} begins at no multiple of ${alignment}`,
      hint: undefined,
    };
  }
}

/** Kinds of instructions that clauses are made of (RDNA2 ISA 4.6; RDNA3 ISA 5.4). */
function clauseKind(step: AmdgpuStep): string | undefined {
  const { instruction } = step;
  const kind = instructionClass(instruction.row);
  switch (kind) {
    case 'vmem':
    case 'scratch':
    case 'flat': {
      const unit = kind === 'flat' ? 'flat' : 'vmem';
      // From gfx11 on loads, stores and atomics are clauses of their own.
      const accesses = step.effects.memory.map(({ access }) => access);
      return instruction.families.includes('gfx11') ? `${unit} ${accesses[0]}` : unit;
    }
    case 'smem':
    case 'lds':
      return kind;
    case 'valu':
      return kind;
    default:
      return undefined;
  }
}

/** s_clause N is followed by N + 1 instructions of one kind, with nothing but s_nop among them. */
export function* clauseFindings(steps: readonly AmdgpuStep[]): Generator<CodeFinding> {
  for (const [number, { instruction, offset: address }] of steps.entries()) {
    if (instruction.row.flags.hint !== 'clause') continue;
    const count = (instruction.field('simm16') & 0x3f) + 1;
    const members = steps.slice(number + 1, number + 1 + count);
    const kinds = new Set(members.filter((step) => !step.instruction.row.flags.idles).map(clauseKind));
    const hint = 'leave the s_clause out: it only saves time';
    if (members.length < count) yield { address, rule: 'clause', text: `a clause of ${count} leaves its block`, hint };
    else if (kinds.size > 1 || kinds.has(undefined)) {
      const odd = members.find((step) => clauseKind(step) !== clauseKind(members[0]!) || !clauseKind(step))!;
      yield { address, rule: 'clause', text: `a clause of ${count} has ${odd.instruction.name} in it`, hint };
    }
  }
}

const meet = (a: readonly RegisterRange[], b: readonly RegisterRange[]): boolean =>
  a.some((one) => b.some((other) => overlaps(one, other)));

/**
 * Where page faults are replayed (XNACK), a load may run again together with those of its kind around it, and
 * must find its addresses (LLVM's GCNHazardRecognizer, checkSoftClauseHazards). `steps` are of one block.
 */
export function* replayFindings(steps: readonly AmdgpuStep[]): Generator<CodeFinding> {
  let clause: AmdgpuStep[] = [];
  for (const step of steps) {
    if (instructionClass(step.instruction.row) !== 'smem') {
      clause = [];
      continue;
    }
    const { reads, writes, memory } = step.effects;
    if (memory.some(({ access }) => access === 'store')) clause = [];
    const clobbers = clause.find((other) => meet(writes, other.effects.reads) || meet(reads, other.effects.writes));
    if (clobbers) {
      const text = `${clobbers.instruction.name} before it may run again, and they share registers`;
      yield { address: step.offset, rule: 'replay', text, hint: 's_nop 0 between them' };
    }
    clause.push(step);
  }
}

/** VGPRs that are used when the wave has given them back, on any way to a step. */
export function* freedFindings(flow: CodeFlow): Generator<CodeFinding> {
  const isMessage = ({ instruction }: AmdgpuStep): boolean => freesVectors(instruction);
  const stepsOf = (node: FlowNode): readonly AmdgpuStep[] => (node.kind === 'code' ? node.block.instructions : []);
  if (!flow.nodes.some((node) => stepsOf(node).some(isMessage))) return;
  const { incoming } = solveDataFlow<boolean>(flow.graph, {
    ...{ direction: 'forward', nothing: false, outside: false },
    join: (a, b) => a || b,
    equals: (a, b) => a === b,
    transfer: (node, isFreed) => isFreed || stepsOf(flow.nodes[node]!).some(isMessage),
  });
  for (const [index, node] of flow.nodes.entries()) {
    let isFreed = incoming[index]!;
    for (const step of stepsOf(node)) {
      const { reads, writes } = step.effects;
      if (isFreed && [...reads, ...writes].some(({ file }) => file === 'vector')) {
        const text = `${step.instruction.name} uses VGPRs that the wave has given back`;
        const hint = 'leave the message out: it only saves time';
        yield { address: step.offset, rule: 'register-freed', text, hint };
      }
      isFreed ||= isMessage(step);
    }
  }
}

/** Instructions that begin inside others. `steps` are in the order of their offsets. */
export function* overlapFindings(steps: readonly AmdgpuStep[]): Generator<CodeFinding> {
  let last: AmdgpuStep | undefined;
  for (const step of steps) {
    if (last && step.offset < followingOffset(last)) {
      const text = `begins inside of ${last.instruction.name}`;
      yield { address: step.offset, rule: 'overlap', text, hint: undefined };
    }
    last = step;
  }
}
