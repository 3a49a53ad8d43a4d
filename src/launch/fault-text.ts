/** A fault in words: the sentence of an error, and its parts. */
import type { ErrorReport } from '../base/errors.ts';
import { hex } from '../base/text.ts';
import type { SourceLine } from '../codeobject/line-table.ts';
import type { Fault } from '../device/fault.ts';

export interface FaultPlace {
  /** Named where the place of the fault, in a function that the kernel called, does not name it. */
  readonly kernel?: string | undefined;
  /** Private memory that a work-item had. */
  readonly privateSizeBytes?: number | undefined;
  /** What ran the kernel, as HSA numbers it; absent for other devices. */
  readonly agent?: string | undefined;
  /** What else the sentence says of the agent. */
  readonly agentNote?: string;
}

export interface FaultText {
  readonly message: string;
  readonly report: ErrorReport;
  readonly hint?: string;
}

const placeOf = ({ file, line, column }: SourceLine): string => `${file}:${line}:${column}`;

export function faultText(fault: Fault, place: FaultPlace): FaultText {
  const { kernel, privateSizeBytes, agent, agentNote = '' } = place;
  const isNamed = kernel === undefined || fault.location.startsWith(`${kernel}+`);
  const { source, text, freedBy } = fault;
  const parts = [
    fault.message,
    ...(isNamed ? [] : [`kernel ${kernel}`]),
    ...(source ? [`at ${placeOf(source)}${text ? ` (${placeOf(text)})` : ''}`] : []),
    ...(freedBy === undefined ? [] : [`freed by ${freedBy}`]),
    ...(agent === undefined ? [] : [`agent ${agent}${agentNote}`]),
  ];
  const isStack = fault.kind === 'aperture' || fault.nearestAllocation?.label === 'scratch';
  const hint = `a work-item had ${privateSizeBytes} bytes of private memory, its stack included: --stack-size=BYTES (stackSizeBytes) gives it more`;
  return {
    message: parts.join('; '),
    report: reportOf(fault, isNamed ? undefined : kernel, agent),
    ...(isStack && privateSizeBytes !== undefined && { hint }),
  };
}

function reportOf(fault: Fault, kernel: string | undefined, agent: string | undefined): ErrorReport {
  const { what, near, source, text, freedBy, lane } = fault;
  const place = `workgroup (${fault.workgroup.join(', ')}), wave ${fault.wave}`;
  return {
    headline: what?.replace(/,$/, '') ?? fault.message,
    fields: {
      ...(fault.instruction !== '' && { instruction: `'${fault.instruction}'` }),
      at: `pc ${hex(fault.pc)}${fault.location && ` in ${fault.location}`}`,
      ...(source && { source: placeOf(source) }),
      ...(text && { text: placeOf(text) }),
      ...(kernel !== undefined && { kernel }),
      'work-item': lane === undefined ? place : `${place}, lane ${lane}`,
      ...(near !== undefined && { memory: near }),
      ...(freedBy !== undefined && { 'freed by': freedBy }),
      ...(agent !== undefined && { agent }),
    },
    ...(source && { source }),
  };
}
