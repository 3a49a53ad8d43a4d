/**
 * What is wrong with a code object though it can be decoded: code that a GPU runs wrong, or not at all, and
 * an emulator may run right. Nothing is executed; calls and returns are followed where all targets are known.
 * What others may call may be entered while anything is in flight, and must have waited for its accesses when
 * it returns; callees that are not known are taken to do so, as those do that LLVM compiles.
 */
import { hex } from '../base/text.ts';
import { fallsThrough, followingOffset } from '../ir/step.ts';
import { countersOf } from '../isa/amdgpu/effects/counters.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import { type CodeFlow, codeFlow } from './code-flow.ts';
import type { CodeFinding } from './finding.ts';
import { type MissingWait, missingWaits } from './hazards.ts';
import { InFlight, InFlightAnalysis, type PendingAccess } from './in-flight.ts';
import { descriptorFindings, registerFindings } from './kernel-checks.ts';
import type { LiftedCode } from './lifted-code.ts';
import type { LiftedFunction } from './lifted-function.ts';
import { clauseFindings, freedFindings, operandFindings, overlapFindings, replayFindings } from './step-checks.ts';

/** The findings, by address. */
export function checkCode(lifted: LiftedCode): CodeFinding[] {
  const { target, kernels } = lifted.codeObject;
  const findings: CodeFinding[] = [];
  const isReplayed = target.xnack === 'any' || target.xnack === 'on';
  const flow = codeFlow(lifted);
  findings.push(...waitFindings(flow), ...hazardFindings(flow), ...freedFindings(flow));
  for (const each of lifted.functions) {
    findings.push(...targetFindings(each, lifted));
    for (const { instructions } of each.blocks) {
      findings.push(...clauseFindings(instructions));
      if (isReplayed) findings.push(...replayFindings(instructions));
      for (const step of instructions) findings.push(...operandFindings(step));
    }
  }
  for (const kernel of kernels) {
    findings.push(...descriptorFindings(kernel, target.processor));
    const entered = lifted.functionAt(Number(kernel.entryAddress));
    if (entered) findings.push(...registerFindings(kernel, entered, target.processor));
  }
  const steps = lifted.functions
    .flatMap(({ blocks }) => blocks.flatMap(({ instructions }) => instructions))
    .sort((a, b) => a.offset - b.offset);
  findings.push(...overlapFindings(steps));
  return findings.sort((a, b) => a.address - b.address);
}

/** Steps that use a register before the access that writes it is over, or write one that it still reads. */
function* waitFindings(flow: CodeFlow): Generator<CodeFinding> {
  const { nodes, blocks, graph } = flow;
  const unknown = InFlight.unknown();
  const known = new InFlight();
  const analysis = new InFlightAnalysis(blocks, graph, {
    ...{ atEntry: 'nothing', afterCalls: 'followed' },
    behindNode: (node) => ({ code: undefined, elsewhere: unknown, convention: known })[nodes[node]!.kind],
  });
  const entered = new Set<LiftedFunction>();
  for (const [index, block] of blocks.entries()) {
    const node = nodes[index]!;
    if (node.kind !== 'code') continue;
    for (const { step, state } of analysis.walk(block, true)) {
      const [pending] = state.neededBefore(step).sort((a, b) => a.left - b.left);
      const address = step.offset;
      if (pending) yield { address, rule: 'wait', text: waitText(step, pending), hint: waitHint(step, pending) };
      if (!entered.has(node.function) && needsCallers(step, state)) {
        entered.add(node.function);
        yield { address, rule: 'wait', text: entryText(step), hint: 'wait for all counters where it begins' };
      }
      if (isOpenReturn(node.function, step)) {
        for (const each of state.pending)
          yield { address, rule: 'wait', text: returnText(each), hint: waitHint(step, each) };
      }
    }
  }
}

/** Whether a step uses registers while accesses that callers started may be in flight. */
function needsCallers({ control, effects, instruction }: AmdgpuStep, state: InFlight): boolean {
  if (control !== 'next' || effects.reads.length + effects.writes.length === 0) return false;
  const counters = countersOf(instruction.families);
  return state.fromElsewhere.some((counter) => counters.has(counter));
}

/** Whether a step returns to callers that are not known. */
function isOpenReturn({ isOpen, sites }: LiftedFunction, step: AmdgpuStep): boolean {
  if (step.control !== 'jump' && step.control !== 'return') return false;
  return isOpen && !sites.some((site) => site.step === step);
}

const entryText = ({ instruction }: AmdgpuStep): string =>
  `${instruction.name} uses registers that accesses of unknown callers may write later`;

const returnText = ({ producer, access }: PendingAccess): string => {
  const does = access === 'write' ? 'write' : 'read';
  return `returns to unknown callers while ${producer.instruction.name} at ${hex(producer.offset)} may ${does} a register later`;
};

const waitText = ({ instruction }: AmdgpuStep, { producer, access }: PendingAccess): string => {
  const what = `${producer.instruction.name} at ${hex(producer.offset)}`;
  return access === 'write'
    ? `${instruction.name} uses a register that ${what} may write later`
    : `${instruction.name} writes a register that ${what} may read later`;
};

/** From gfx12 on each counter has its own instruction. */
const waitHint = ({ instruction: { families } }: AmdgpuStep, { counter, left }: PendingAccess): string =>
  families.includes('gfx12') ? `s_wait_${counter} ${hex(left)}` : `s_waitcnt ${counter}(${left})`;

function* hazardFindings(flow: CodeFlow): Generator<CodeFinding> {
  for (const each of missingWaits(flow.blocks, flow.graph)) {
    const { step, producer, hazard } = each;
    const text = `${hazard.text}: ${step.instruction.name} behind ${producer.instruction.name} at ${hex(producer.offset)} (${hazard.name}; ${hazard.source})`;
    yield { address: step.offset, rule: 'hazard', text, hint: hazardHint(each) };
  }
}

const MOST_NOPS = 16;

function hazardHint({ hazard, missing }: MissingWait): string {
  if (hazard.counts !== 'states') return `${hazard.cure} before it`;
  const nops = Array.from({ length: Math.ceil(missing / MOST_NOPS) }, (_, i) =>
    Math.min(MOST_NOPS, missing - i * MOST_NOPS),
  );
  return `${nops.map((states) => `${hazard.cure} ${states - 1}`).join(', ')} before it`;
}

/** Control that goes where no instruction is. */
function* targetFindings(lifted: LiftedFunction, code: LiftedCode): Generator<CodeFinding> {
  for (const { instructions } of lifted.blocks) {
    const step = instructions.at(-1)!;
    const { offset: address } = step;
    if (step.target !== undefined && !code.stepAt(step.target)) {
      const text = `${step.instruction.name} goes to ${hex(step.target)}, where no instruction is`;
      yield { address, rule: 'target', text, hint: undefined };
    }
    if (fallsThrough(step) && !code.stepAt(followingOffset(step)))
      yield { address, rule: 'target', text: `no instruction is behind ${step.instruction.name}`, hint: undefined };
  }
}
