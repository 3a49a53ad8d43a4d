/** Lifted code as text, for programs that read JSON, and as a graph for Graphviz. */
import { WavewrightError } from '../base/errors.ts';
import { hex, printable } from '../base/text.ts';
import type { CodeObject } from '../codeobject/code-object.ts';
import { LineTable } from '../codeobject/line-table.ts';
import type { LiveLanes } from '../flow/lane-words.ts';
import { REGISTER_PLACES } from '../flow/steps.ts';
import { followingOffset } from '../ir/step.ts';
import type { LiftedCode } from '../lift/lifted-code.ts';
import type { LiftedBlock, LiftedFunction, TransferSite } from '../lift/lifted-function.ts';
import { placesText } from './places-text.ts';

export interface LiftReport {
  readonly schema: 'wavewright.lift';
  /** Grows when a reader could break. */
  readonly version: 1;
  readonly file: string;
  readonly target: string;
  readonly functions: readonly FunctionReport[];
}

/** Addresses are those of the linked file. */
interface FunctionReport {
  readonly name: string;
  readonly entry: number;
  readonly end: number;
  readonly waveSize: number;
  readonly kernels: readonly string[];
  /** Whether others than known callers may enter. */
  readonly isExposed: boolean;
  readonly callees: readonly string[];
  /** Names of all that is reached at any depth, and whether that is all. */
  readonly reaches: readonly string[];
  readonly isReachComplete: boolean;
  readonly blocks: readonly BlockReport[];
  readonly loops: readonly LoopReport[];
  readonly sites: readonly SiteReport[];
}

interface BlockReport {
  readonly start: number;
  readonly end: number;
  /** Of the first instruction. */
  readonly line: string | null;
  readonly instructions: readonly string[];
  /** Starts of the blocks that follow without and with a branch. */
  readonly next: number | null;
  readonly target: number | null;
  /** Whether control may leave the function here. */
  readonly leaves: boolean;
  readonly loopDepth: number;
  readonly liveIn: LiveReport;
  readonly liveOut: LiveReport;
}

/** Registers in active lanes, with scalars and state; and rows in lanes that are off. */
interface LiveReport {
  readonly active: string;
  readonly inactive: string;
}

interface LoopReport {
  readonly header: number;
  readonly latches: readonly number[];
  readonly depth: number;
}

interface SiteReport {
  readonly address: number;
  readonly instruction: string;
  readonly kind: TransferSite['kind'];
  readonly targets: readonly string[];
  readonly isComplete: boolean;
  readonly how: TransferSite['how'];
  readonly comesBack: boolean;
}

/** `kernel`: it alone, with what it reaches. Throws BAD_INPUT when there is none of that name. */
export function describeLift(code: LiftedCode, kernel?: string): LiftReport {
  const { codeObject, functions } = code;
  const lines = lineTableOf(codeObject);
  const shown = kernel === undefined ? functions : reachedFrom(code, kernel);
  return {
    schema: 'wavewright.lift',
    version: 1,
    file: codeObject.name,
    target: codeObject.isaName,
    functions: shown.map((each) => describeFunction(each, code, lines)),
  };
}

function reachedFrom({ functions, codeObject }: LiftedCode, kernel: string): readonly LiftedFunction[] {
  const entries = functions.filter(({ kernels }) => kernels.some(({ name }) => name === kernel));
  if (entries.length === 0) {
    const names = codeObject.kernels.map(({ name }) => name).join(', ');
    throw new WavewrightError('BAD_INPUT', `no kernel '${kernel}'`, {
      ...{ file: codeObject.name, hint: names === '' ? 'there are no kernels' : `there are: ${names}` },
    });
  }
  const reached = new Set(entries.flatMap((entry) => [...entry.reaches().functions]));
  return functions.filter((each) => reached.has(each));
}

/** Undefined where there is none, or a damaged one. */
function lineTableOf({ elf }: CodeObject): LineTable | undefined {
  try {
    return LineTable.read(elf);
  } catch (error) {
    if (error instanceof WavewrightError) return undefined;
    throw error;
  }
}

function describeFunction(lifted: LiftedFunction, code: LiftedCode, lines: LineTable | undefined): FunctionReport {
  const { name, entry, endAddress: end, waveSize, kernels, isExposed, callees, blocks, loops } = lifted;
  const { functions, isComplete } = lifted.reaches();
  const startOf = (index: number): number => startAddress(blocks[index]!);
  return {
    ...{ name, entry, end, waveSize, isExposed },
    kernels: kernels.map((each) => each.name),
    callees: [...callees].map((each) => each.name),
    reaches: [...functions].filter((each) => each !== lifted).map((each) => each.name),
    isReachComplete: isComplete,
    blocks: blocks.map((block) => describeBlock(block, lifted, lines)),
    loops: loops.loops.map(({ header, latches, depth }) => ({
      ...{ header: startOf(header), latches: latches.map(startOf), depth },
    })),
    sites: lifted.sites.map(({ step, kind, targets, isComplete: isAll, how, comesBack }) => ({
      address: step.offset,
      instruction: step.text().trim(),
      targets: targets.map((target) => code.functionAt(target)?.name ?? hex(target)),
      ...{ kind, isComplete: isAll, how, comesBack },
    })),
  };
}

const startAddress = ({ instructions }: LiftedBlock): number => instructions[0]!.offset;

function describeBlock(block: LiftedBlock, lifted: LiftedFunction, lines: LineTable | undefined): BlockReport {
  const { instructions, next, target, leaves, index } = block;
  const [first, last] = [instructions[0]!, instructions.at(-1)!];
  const line = lines?.lineAt(BigInt(first.offset));
  const live = ({ active, inactive }: LiveLanes): LiveReport => ({
    ...{ active: placesText(active), inactive: placesText(inactive, REGISTER_PLACES.rows) },
  });
  return {
    ...{ start: first.offset, end: followingOffset(last) },
    line: line ? `${line.file}:${line.line}` : null,
    instructions: instructions.map((step) => step.text().trim()),
    next: next ? startAddress(next) : null,
    target: target ? startAddress(target) : null,
    leaves,
    loopDepth: lifted.loops.at(index)?.depth ?? 0,
    liveIn: live(lifted.liveBefore(first)),
    liveOut: live(lifted.liveAfter(last)),
  };
}

/** For people. Names from the file are made fit for a terminal. */
export function formatLift({ file, target, functions }: LiftReport): string {
  const lines = [`${file}: ${target}, ${functions.length} functions`];
  for (const each of functions) lines.push('', ...functionLines(each));
  const open = functions.flatMap(({ name, sites }) =>
    sites
      .filter(({ isComplete }) => !isComplete)
      .map((site) => `  ${hex(site.address)} in ${name}: ${site.instruction}`),
  );
  lines.push('', open.length === 0 ? 'All sites are resolved.' : `Unresolved sites: ${open.length}`, ...open);
  return `${lines.map(printable).join('\n')}\n`;
}

function functionLines({
  name,
  entry,
  end,
  waveSize,
  kernels,
  blocks,
  loops,
  sites,
  ...rest
}: FunctionReport): string[] {
  const what = kernels.length > 0 ? `kernel ${kernels.join(', ')}` : rest.isExposed ? 'function' : 'local function';
  const lines = [`${name}: ${what}, ${hex(entry)} to ${hex(end)}, wave${waveSize}, ${blocks.length} blocks`];
  if (rest.reaches.length > 0 || !rest.isReachComplete) {
    const others = rest.isReachComplete ? [] : ['what is not known'];
    lines.push(`  reaches ${[...rest.reaches, ...others].join(', ')}`);
  }
  for (const { header, latches, depth } of loops)
    lines.push(`  loop at ${hex(header)}, depth ${depth}, back from ${latches.map((latch) => hex(latch)).join(', ')}`);
  for (const { address, kind, targets, isComplete, how, comesBack } of sites) {
    const where = [...targets, ...(isComplete ? [] : ['what is not known'])].join(', ');
    const found = how === 'unresolved' ? '' : ` (${how})`;
    const ending = kind === 'call' && !comesBack ? ', does not come back' : '';
    lines.push(`  ${kind} at ${hex(address)} to ${where}${found}${ending}`);
  }
  for (const block of blocks) lines.push(...blockLines(block));
  return lines;
}

function blockLines({ start, end, line, instructions, loopDepth, liveIn, liveOut, ...rest }: BlockReport): string[] {
  const ways = [
    ...(rest.next === null ? [] : [`next ${hex(rest.next)}`]),
    ...(rest.target === null ? [] : [`branch ${hex(rest.target)}`]),
    ...(rest.leaves ? ['leaves'] : []),
  ];
  const notes = [line ?? '', loopDepth > 0 ? `loop depth ${loopDepth}` : '', ways.join(', ') || 'ends'].filter(Boolean);
  const live = ({ active, inactive }: LiveReport): string => (inactive === '' ? active : `${active}; off: ${inactive}`);
  return [
    `  ${hex(start)} to ${hex(end)}: ${notes.join('; ')}`,
    `    live in: ${live(liveIn)}`,
    ...instructions.map((text) => `      ${text}`),
    `    live out: ${live(liveOut)}`,
  ];
}

/** A graph of all blocks in the language of Graphviz, a box around each function. */
export function dotOfLift({ functions }: LiftReport): string {
  const quoted = (text: string): string => `"${printable(text).replace(/["\\]/g, '\\$&')}"`;
  const lines = functions.flatMap(({ name, entry, blocks, sites }) => [
    `  subgraph ${quoted(`cluster_${hex(entry)}`)} {`,
    `    label=${quoted(name)};`,
    ...blocks.map(
      ({ start, instructions, loopDepth }) =>
        `    ${quoted(hex(start))} [label=${quoted(`${hex(start)}, ${instructions.length} instructions${loopDepth > 0 ? `, loop depth ${loopDepth}` : ''}`)}];`,
    ),
    '  }',
    ...blocks.flatMap(({ start, next, target }) =>
      [next, target].flatMap((to) => (to === null ? [] : [`  ${quoted(hex(start))} -> ${quoted(hex(to))};`])),
    ),
    ...sites.flatMap(({ address, targets }) =>
      targets.flatMap((target) => {
        const from = blocks.find(({ start, end }) => address >= start && address < end);
        const to = functions.find((each) => each.name === target);
        return from && to ? [`  ${quoted(hex(from.start))} -> ${quoted(hex(to.entry))} [style=dashed];`] : [];
      }),
    ),
  ]);
  return `digraph lift {\n  node [shape=box];\n${lines.join('\n')}\n}\n`;
}
