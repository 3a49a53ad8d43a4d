/** What a text becomes, for tests that look at the code. */
import type { Step } from '../../ir/step.ts';
import { PtxStepReader } from '../step.ts';
import { compilePtx } from './module.ts';

const INSTRUCTION_ALIGNMENT = 4;

/** The instructions of the first function. */
export function stepsOf(text: string): Step[] {
  const { bytes, functions } = compilePtx(text, 'k.ptx');
  const code = new DataView(Uint8Array.from(bytes).buffer);
  const reader = new PtxStepReader();
  const steps: Step[] = [];
  const { offset, sizeBytes } = functions[0]!;
  for (let at = offset; at < offset + sizeBytes; ) {
    const step = reader.step(code, at);
    if (typeof step !== 'string') steps.push(step);
    at += typeof step === 'string' ? INSTRUCTION_ALIGNMENT : step.sizeBytes;
  }
  return steps;
}
