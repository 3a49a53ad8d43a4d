/**
 * Where variables are in the shared memory of a block. First those of modules and of functions, for all
 * modules that are linked; behind them those of the kernel that runs, at the same place for each kernel;
 * behind all of these the dynamic memory, which is what `.extern` variables name that nothing defines (PTX
 * ISA 5.4.4 and 5.1.7).
 */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import type { PtxRow } from '../rows/row.ts';
import { formOf } from '../rows/table.ts';
import type { PtxSource } from '../text/source.ts';
import type { PtxFunction, PtxInstruction, PtxModule, Statement, Variable } from '../text/syntax.ts';
import { variableExtent } from './signature.ts';

export interface SharedModule {
  readonly source: PtxSource;
  readonly module: PtxModule;
}

/** Of private memory, at least. */
const STACK_ALIGNMENT_BYTES = 16;
const DYNAMIC_ALIGNMENT_BYTES = 16;
const MAX_SHARED_BYTES = 65_536;

export class SharedLayout {
  readonly #offsets = new Map<Variable, number>();
  readonly #kernelEnds = new Map<PtxFunction, number>();
  /** Where votes at barriers are counted, if there are some: a dword for each barrier. */
  readonly votesOffset: number | undefined;
  /** Whether at barriers threads are counted, so that not all of a block have to come to each. */
  readonly countsAtBarriers: boolean;
  /** Frames of functions begin at multiples of this, so that any of them has what its variables ask for. */
  readonly frameAlignmentBytes: number;
  /** Where dynamic memory begins, if a variable names it. */
  readonly #dynamicStart: number | undefined;

  /** Of modules that are linked with each other. Throws LIMIT_EXCEEDED, and what `variableExtent` throws. */
  constructor(modules: readonly SharedModule[]) {
    const items = modules.flatMap(({ source, module }) => module.items.map((item) => ({ source, item })));
    const variables = items.flatMap(({ source, item }) =>
      item.kind === 'variable' && isShared(item) ? [{ source, variable: item }] : [],
    );
    const barriers = items.flatMap(({ item }) => (item.kind === 'function' ? barriersOf(item.body ?? []) : []));
    const hasVotes = barriers.some(({ row }) => row.expansion === 'votingBarrier');
    this.countsAtBarriers = barriers.some(isCounted);
    const alignments = items.flatMap(({ item }) => (item.kind === 'function' ? [privateAlignment(item)] : []));
    this.frameAlignmentBytes = alignments.reduce((most, each) => Math.max(most, each), STACK_ALIGNMENT_BYTES);
    this.votesOffset = hasVotes ? 0 : undefined;
    let common = hasVotes ? VOTES_BYTES : 0;
    for (const { source, variable } of variables) if (!isExtern(variable)) common = this.#put(variable, common, source);
    for (const { source, item } of items) {
      if (item.kind === 'function' && !item.isEntry) common = this.#place(item.body ?? [], common, source);
    }
    let end = common;
    for (const { source, item } of items) {
      if (item.kind !== 'function' || !item.isEntry) continue;
      const kernelEnd = this.#place(item.body ?? [], common, source);
      this.#kernelEnds.set(item, kernelEnd);
      end = Math.max(end, kernelEnd);
    }
    this.#dynamicStart = this.#resolve(variables, end);
    for (const { source, item } of items) if (item.kind === 'function' && item.isEntry) this.#check(item, source);
  }

  /** The offset of a variable. */
  offsetOf(variable: Variable): number {
    return this.#offsets.get(variable)!;
  }

  /** What a block of a kernel needs, without what a launch adds. */
  bytesOf(kernel: PtxFunction): number {
    return this.#dynamicStart ?? this.#kernelEnds.get(kernel)!;
  }

  #put(variable: Variable, start: number, source: PtxSource): number {
    const { sizeBytes, alignmentBytes } = variableExtent(variable, source);
    const offset = alignUp(start, alignmentBytes);
    this.#offsets.set(variable, offset);
    return offset + sizeBytes;
  }

  /** Places the variables of a function; returns where they end. */
  #place(statements: readonly Statement[], start: number, source: PtxSource): number {
    let end = start;
    for (const statement of statements) {
      if (statement.kind === 'block') end = this.#place(statement.statements, end, source);
      else if (statement.kind === 'variable' && isShared(statement)) end = this.#put(statement, end, source);
    }
    return end;
  }

  /** `.extern` variables are what a module defines by their name, or dynamic memory, which begins here. */
  #resolve(
    variables: readonly { readonly source: PtxSource; readonly variable: Variable }[],
    end: number,
  ): number | undefined {
    const definitions = new Map(
      variables
        .filter(({ variable }) => !isExtern(variable))
        .map(({ variable }) => [variable.name, this.offsetOf(variable)]),
    );
    const dynamic = variables.filter(({ variable }) => isExtern(variable) && !definitions.has(variable.name));
    const alignments = dynamic.map(({ source, variable }) => variableExtent(variable, source).alignmentBytes);
    const start = alignUp(end, Math.max(DYNAMIC_ALIGNMENT_BYTES, ...alignments));
    for (const { variable } of variables) {
      if (isExtern(variable)) this.#offsets.set(variable, definitions.get(variable.name) ?? start);
    }
    return dynamic.length === 0 ? undefined : start;
  }

  #check(kernel: PtxFunction, { name: file }: PtxSource): void {
    const bytes = this.bytesOf(kernel);
    if (bytes <= MAX_SHARED_BYTES) return;
    const what = `kernel '${kernel.name}' has ${bytes} bytes of shared memory, at most ${MAX_SHARED_BYTES}`;
    throw new WavewrightError('LIMIT_EXCEEDED', `${what} are supported`, { file });
  }
}

/** The name of that place, which no text can have. */
export const VOTES = 'votes at barriers';
const VOTES_BYTES = 64;

interface Barrier {
  readonly instruction: PtxInstruction;
  readonly row: PtxRow;
}

/** Barriers at which the lanes of a block meet. */
function barriersOf(statements: readonly Statement[], found: Barrier[] = []): readonly Barrier[] {
  for (const statement of statements) {
    if (statement.kind === 'block') barriersOf(statement.statements, found);
    if (statement.kind !== 'instruction') continue;
    const row = formOf(statement.opcode)?.row;
    if (row?.expansion === 'barrier' || row?.expansion === 'votingBarrier') found.push({ instruction: statement, row });
  }
  return found;
}

/** The most that a variable in private memory says that it needs. */
function privateAlignment({ isEntry, results, parameters, body = [] }: PtxFunction): number {
  const own = isEntry ? [] : [...results, ...parameters];
  return own.reduce((most, { alignmentBytes = 1 }) => Math.max(most, alignmentBytes), alignmentOf(body));
}

function alignmentOf(statements: readonly Statement[]): number {
  let most = 1;
  for (const statement of statements) {
    if (statement.kind === 'block') most = Math.max(most, alignmentOf(statement.statements));
    else if (statement.kind === 'variable' && !isShared(statement))
      most = Math.max(most, statement.alignmentBytes ?? 1);
  }
  return most;
}

/** A barrier with all its operands has a count of threads. */
const isCounted = ({ instruction, row }: Barrier): boolean => instruction.operands.length === row.operands.length;

const isShared = ({ space }: Variable): boolean => space.startsWith('.shared');
const isExtern = ({ linkage }: Variable): boolean => linkage === '.extern';
