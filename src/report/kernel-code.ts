/**
 * The code of kernels for a report: what a profile says of their instructions, in the order of addresses,
 * with source lines and counts, and the blocks that they make.
 */
import { checkLimit } from '../base/limits.ts';
import { type BasicBlock, basicBlocks, blockGraph, type Followed } from '../flow/blocks.ts';
import { loopForest } from '../flow/loops.ts';
import {
  type AccessedMemory,
  type CountedInstruction,
  countedKernels,
  type KernelInstructions,
} from '../profile/counted-kernels.ts';
import { INSTRUCTIONS } from '../profile/format/instruction-records.ts';
import type { Profile } from '../profile/profile.ts';
import type { KernelListing, ListedFunction, ListingCounts } from './report-data.ts';

/** The text of a file that debug information names; without it, reports have names and numbers of lines. */
export type ReadSource = (file: string) => string | undefined;

/**
 * Of each kernel with counted instructions, those with most executed instructions first. Throws BAD_INPUT for
 * a damaged profile, LIMIT_EXCEEDED for one with too many instructions.
 */
export function kernelCode(profile: Profile, readSource: ReadSource = () => undefined): KernelListing[] {
  checkLimit('reportInstructions', profile.count(INSTRUCTIONS).records, { file: profile.name });
  const kernels = countedKernels(profile).filter(({ instructions }) => instructions.length > 0);
  const listed = kernels.reduce((sum, { instructions }) => sum + instructions.length, 0);
  checkLimit('reportInstructions', listed, { file: profile.name });
  kernels.sort((one, other) => Number(other.executedCount - one.executedCount));
  return kernels.map((kernel) => listing(kernel, readSource));
}

function listing(
  { key, executableId, exportOrdinal, waveSize, segmentBytes, dispatchCount, instructions }: KernelInstructions,
  readSource: ReadSource,
): KernelListing {
  const files = [...new Set(instructions.flatMap(({ source }) => source?.file ?? []))];
  const functions = Map.groupBy(instructions.entries(), ([, { codeObjectId, address, function: own }]) => {
    return own === undefined ? 'none' : `${codeObjectId}/${address - own.offset}`;
  });
  return {
    name: key,
    executable: executableId.toString(),
    ...{ exportOrdinal, waveSize },
    dispatches: Number(dispatchCount),
    functions: [...functions.values()].map(codeFunction),
    addresses: instructions.map(({ address }) => Number(address)),
    texts: instructions.map(({ text }) => text.trim()),
    fileOf: instructions.map(({ source }) => (source === undefined ? -1 : files.indexOf(source.file))),
    lineOf: instructions.map(({ source }) => source?.line ?? 0),
    files: files.map((name) => {
      const wanted = instructions.flatMap(({ source }) => (source?.file === name ? [source.line] : []));
      return { name, lines: sourceLines(readSource(name), new Set(wanted)) };
    }),
    counts: countsOf(instructions, segmentBytes),
  };
}

function countsOf(instructions: readonly CountedInstruction[], segmentBytes: number): ListingCounts {
  /** Of accesses to global memory. */
  const ofGlobal = (value: (memory: AccessedMemory) => number) =>
    instructions.map(({ memory }) => (memory && memory.segments > 0n ? value(memory) : null));
  return {
    waves: instructions.map(({ waves }) => Number(waves)),
    lanes: instructions.map(({ lanes }) => Number(lanes)),
    taken: instructions.map(({ control, taken }) => (control === 'conditional' ? Number(taken) : null)),
    bytes: ofGlobal(({ bytes }) => Number(bytes)),
    touched: ofGlobal(({ segments }) => Number(segments) * segmentBytes),
    cycles: instructions.map(({ memory }) => (memory && memory.cycles > 0n ? Number(memory.cycles) : null)),
    conflicts: instructions.map(({ memory }) => (memory && memory.cycles > 0n ? Number(memory.conflicts) : null)),
  };
}

function sourceLines(text: string | undefined, wanted: ReadonlySet<number>): Record<number, string> {
  const all = text?.split('\n') ?? [];
  const found = [...wanted].filter((line) => line > 0 && all[line - 1] !== undefined);
  return Object.fromEntries(found.map((line) => [line, all[line - 1]!.trimEnd()]));
}

/** Rows of the listing, with their instructions. */
type Rows = readonly (readonly [row: number, instruction: CountedInstruction])[];

function codeFunction(rows: Rows): ListedFunction {
  const [, entry] = rows[0]!;
  const code = new Map(rows.map(([row, instruction]) => [Number(instruction.address), followed(instruction, row)]));
  const blocks = basicBlocks(code, [Number(entry.address)]);
  const loops = loopForest(blockGraph(blocks, blocks.slice(0, 1)));
  const ways = ({ next, target }: BasicBlock<number>) => [
    ...(next ? [{ to: next.index, isBranch: false }] : []),
    ...(target ? [{ to: target.index, isBranch: true }] : []),
  ];
  return {
    name: entry.function?.name ?? 'code of no function',
    blocks: blocks.map((block) => ({
      first: block.instructions[0]!,
      count: block.instructions.length,
      ways: ways(block),
      leaves: block.leaves,
      loopDepth: loops.at(block.index)?.depth ?? 0,
    })),
  };
}

/** An instruction is its row of the listing. */
function followed({ address, sizeBytes, control, targetAddress }: CountedInstruction, row: number): Followed<number> {
  const behind = Number(address) + sizeBytes;
  const isBranch = control === 'branch' || control === 'conditional';
  return {
    instruction: row,
    next: control === 'next' || control === 'conditional' || control === 'call' ? behind : undefined,
    target: isBranch && targetAddress !== undefined ? Number(targetAddress) : undefined,
    leaves: !isBranch && control !== 'next',
    endsBlock: control !== 'next',
  };
}
