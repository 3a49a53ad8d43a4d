/**
 * A compiled hook without registers and place: what its instructions read and write has become virtual
 * registers, its markers what they stand for, its addresses symbols. What cannot become so is rejected with
 * the reason.
 */
import { registerNumber } from '../../flow/steps.ts';
import { waveSizeOfCode } from '../../lift/wave-size.ts';
import type { RegisterUse } from '../machine/machine-code.ts';
import { type AddressHalf, findAddresses } from './addresses.ts';
import { HookDefinitions } from './definitions.ts';
import { type ExecMask, ExecMasks } from './exec-masks.ts';
import { type CompiledCode, type HookNode, isRejected, type Rejected, readHookCode } from './hook-code.ts';
import { blockAt, type HookBlock, type HookFile } from './hook-file.ts';
import { Webs } from './webs.ts';
import { findWideValues, type WideValues } from './wide-lanes.ts';

/** Half of an address, by what is there. */
export interface BlockHalf {
  /** The operand of the instruction that gets it: a dword of a virtual register. */
  readonly use: RegisterUse;
  readonly half: 'low' | 'high';
  readonly block: HookBlock;
  readonly offset: number;
}

export interface LiftedNode {
  readonly node: HookNode;
  /** EXEC there; `all`: the node is to run in all lanes, whatever EXEC is. */
  readonly lanes: ExecMask | 'all';
  readonly uses: ReadonlyMap<number, RegisterUse>;
  /** In place of the instruction. */
  readonly addresses: readonly BlockHalf[];
}

export interface LiftedHookBlock {
  readonly nodes: readonly LiftedNode[];
  readonly next: number | undefined;
  readonly target: number | undefined;
  readonly returns: boolean;
}

export interface LiftedHook {
  readonly name: string;
  readonly file: HookFile;
  readonly processor: string;
  readonly waveSize: 32 | 64;
  /** By number; the first is the entry. */
  readonly blocks: readonly LiftedHookBlock[];
  /** What the hook begins with: the registers that the ABI gives arguments and the kernel's values in. */
  initial(file: 'scalar' | 'vector', register: number): RegisterUse | undefined;
  /** Whether the hook reads a VGPR that it has not written. */
  needsArgument(register: number): boolean;
  /** Whether EXEC must be brought back to what it was. */
  readonly changesExec: boolean;
  /** Whether arguments are needed in all lanes. */
  readonly hasWideArguments: boolean;
}

/** Lifts a function of the file for a kernel that runs in waves of `waveSize` lanes. */
export function liftHook(file: HookFile, name: string, waveSize: 32 | 64): LiftedHook | Rejected {
  const found = file.functions.get(name);
  if (!found) return { rejected: `is not in ${file.name}: no function '${name}'` };
  const { waveSize: compiledFor } = waveSizeOfCode(file.code.bytes, file.processor);
  if (compiledFor !== undefined && compiledFor !== waveSize)
    return { rejected: `was compiled for waves of ${compiledFor} lanes, and the kernel has waves of ${waveSize}` };
  const code = readHookCode(file, found.address, waveSize);
  if (isRejected(code)) return code;
  const masks = new ExecMasks(code);
  const definitions = new HookDefinitions(code, masks);
  const addresses = findAddresses(code, file);
  const needed = neededNodes(code, definitions, addresses, masks);
  const outside = readFromOutside(needed, definitions, addresses);
  const returnRefusal = checkReturns(code, definitions);
  if (returnRefusal !== undefined) return { rejected: returnRefusal };
  for (let register = 0; register < FIRST_IMPLICIT; register++) {
    if (outside.has(registerNumber('scalar', register))) return { rejected: 'uses the resource of private memory' };
  }
  const wide = findWideValues(code, needed, definitions, masks);
  if (isRejected(wide)) return wide;
  const webs = new Webs({ code, nodes: needed, addresses, definitions, masks, wide });
  const isRead = (register: number): boolean => outside.has(registerNumber('vector', register));
  return build({ code, file, name, needed, addresses, webs, masks, wide, isRead });
}

interface Parts {
  readonly code: CompiledCode;
  readonly file: HookFile;
  readonly name: string;
  readonly needed: ReadonlySet<HookNode>;
  readonly addresses: ReadonlyMap<HookNode, readonly AddressHalf[]>;
  readonly webs: Webs;
  readonly masks: ExecMasks;
  readonly wide: WideValues;
  readonly isRead: (register: number) => boolean;
}

function build({ code, file, name, needed, addresses, webs, masks, wide, isRead }: Parts): LiftedHook | Rejected {
  let rejected: string | undefined;
  const halfOf = (node: HookNode, { register, half, address }: AddressHalf): BlockHalf[] => {
    const use = webs.written(node, 'scalar', register);
    if (!use) return [];
    const block = blockAt(file.blocks, address);
    if (!block) {
      rejected ??= `takes the address of code ('${node.step.text()}')`;
      return [];
    }
    if (block.pointers.length > 0) {
      rejected ??= `has addresses in its data ('${block.name}')`;
      return [];
    }
    return [{ use, half, block, offset: address - block.address }];
  };
  const blocks = code.blocks.map(({ nodes, next, target, returns }) => ({
    ...{ next, target, returns },
    nodes: nodes
      .filter((node) => needed.has(node))
      .map((node): LiftedNode => {
        const halves = addresses.get(node);
        const lanes = wide.nodes.has(node) ? 'all' : masks.before(node);
        if (!halves) return { node, lanes, uses: webs.usesOf(node), addresses: [] };
        return { node, lanes, uses: new Map(), addresses: halves.flatMap((half) => halfOf(node, half)) };
      }),
  }));
  if (rejected !== undefined) return { rejected };
  return {
    ...{ name, file, processor: code.processor, waveSize: code.waveSize, blocks },
    initial: (registerFile, register) => webs.initial(registerFile, register),
    needsArgument: isRead,
    changesExec: masks.isWritten && !masks.isRestored,
    hasWideArguments: wide.hasArguments,
  };
}

/** SGPRs below it hold the resource of private memory (LLVM AMDGPU usage, "Calling Convention"). */
const FIRST_IMPLICIT = 4;
const RETURN_ADDRESS = registerNumber('scalar', 30);

/** Registers that somebody reads although the hook has never written them, by their numbers. */
function readFromOutside(
  needed: ReadonlySet<HookNode>,
  definitions: HookDefinitions,
  addresses: ReadonlyMap<HookNode, unknown>,
): ReadonlySet<number> {
  const units = new Set<number>();
  for (const node of needed) {
    if (addresses.has(node) || node.returns) continue;
    for (const read of node.reads) {
      if (definitions.of(node, read).nodes.size === 0) units.add(read.unit);
    }
  }
  return units;
}

/** A hook goes back to where it was called from. */
function checkReturns({ blocks }: CompiledCode, definitions: HookDefinitions): string | undefined {
  for (const node of blocks.flatMap(({ nodes }) => nodes).filter(({ returns }) => returns)) {
    const isReturn = [0, 1].every((i) => {
      const { nodes } = definitions.of(node, { unit: RETURN_ADDRESS + i, isCrossLane: false });
      return nodes.size === 0;
    });
    if (!isReturn) return `jumps to an address that it computes ('${node.step.text()}')`;
  }
  return undefined;
}

/** Instructions with an effect, and those that these need. */
function neededNodes(
  code: CompiledCode,
  definitions: HookDefinitions,
  addresses: ReadonlyMap<HookNode, unknown>,
  masks: ExecMasks,
): ReadonlySet<HookNode> {
  const needed = new Set<HookNode>();
  const waits = superfluousWaits(code);
  const work = code.blocks.flatMap(({ nodes }) =>
    nodes.filter((node) => isRoot(node, masks) && !waits.has(node) && !addresses.has(node)),
  );
  for (let node = work.pop(); node !== undefined; node = work.pop()) {
    if (needed.has(node)) continue;
    needed.add(node);
    if (node.returns || addresses.has(node)) continue;
    const kept = node.writes.filter(({ isPartial }) => isPartial);
    for (const read of [...node.reads, ...kept.map(({ unit }) => ({ unit, isCrossLane: true }))]) {
      for (const writer of definitions.of(node, read).nodes) work.push(writer);
    }
  }
  return needed;
}

const MARKER_ROOTS = new Set(['write_reg', 'write_exec', 'scalar_atomic_add']);

function isRoot(node: HookNode, masks: ExecMasks): boolean {
  const { step, marker } = node;
  if (marker) return MARKER_ROOTS.has(marker.name);
  const { effects, control, instruction } = step;
  if (control !== 'next' || masks.change(node) !== 'none' || effects.waits.size > 0) return true;
  if (effects.memory.some(({ access }) => access !== 'load')) return true;
  if (instruction.row.flags.synchronises === true) return instruction.row.semantics !== undefined && sleeps(node);
  // What writes nothing and touches no memory is a hint, or keeps a distance that the final code has anew;
  // but some instructions write caches back, or discard them.
  return effects.writes.length === 0 && effects.writesState.size === 0 && hasEffect(node);
}

const sleeps = ({ step }: HookNode): boolean =>
  step.program().values.some(({ leaf }) => leaf.kind === 'exit' && leaf.reason === 'sleep');

/** Formats that reach memory have effects that neither registers nor accesses show. */
const hasEffect = ({ step }: HookNode): boolean =>
  step.effects.memory.length > 0 || !/^SOPP$/.test(step.instruction.format.name);

/**
 * Waits of the hook that the place does without: a function waits for its caller's accesses when it begins,
 * because it cannot know of them, and for its own stores before it returns. Whoever puts the hook in its
 * place waits for what the hook reads.
 */
function superfluousWaits({ blocks }: CompiledCode): ReadonlySet<HookNode> {
  const found = new Set<HookNode>();
  for (const node of blocks[0]!.nodes) {
    if (node.marker || node.step.effects.waits.size === 0) break;
    found.add(node);
  }
  for (const { nodes, returns } of blocks) {
    if (!returns) continue;
    for (const node of nodes.toReversed()) {
      if (node.marker || node.returns) continue;
      const { waits } = node.step.effects;
      if (waits.size > 0 && isStoreWait(node, nodes, blocks)) found.add(node);
      else if (waits.size > 0 || node.step.effects.memory.length > 0) break;
    }
  }
  return found;
}

/**
 * Whether what a wait waits for can write no register. Of other blocks than its own all accesses count,
 * because the ways to the wait are not looked at.
 */
function isStoreWait(wait: HookNode, own: readonly HookNode[], blocks: CompiledCode['blocks']): boolean {
  const counters = [...wait.step.effects.waits.keys()];
  const loads = ({ marker, step: { effects } }: HookNode): boolean =>
    !marker && counters.some((counter) => effects.counters.has(counter)) && effects.writes.length > 0;
  const waits = ({ marker, step: { effects } }: HookNode): boolean =>
    !marker && counters.every((counter) => effects.waits.get(counter) === 0);
  for (const node of own.slice(0, own.indexOf(wait)).toReversed()) {
    if (waits(node)) return true;
    if (loads(node)) return false;
  }
  const isOpen = (nodes: readonly HookNode[]): boolean => nodes.findLastIndex(loads) > nodes.findLastIndex(waits);
  return !blocks.some(({ nodes }) => nodes !== own && isOpen(nodes));
}
