/** Compiled modules of this process, by everything that their code depends on. */
import { headOf, type KeptForm, withHead } from '../../base/kept-code.ts';
import type { VerticalMode } from '../code/emulator-core.ts';
import { keptModule } from '../lowering/code-store.ts';
import type { AddressSpaces } from '../lowering/memory-access.ts';
import type { MemoryPages } from '../lowering/module-context.ts';
import type { HostWork } from '../machine/host-work.ts';
import type { Block, FollowedCode } from './function/control-flow.ts';
import type { Decoded } from './function/decoded.ts';
import { type LoweredFunction, MAX_CODE_BYTES } from './function-lowering.ts';

/** What is made of code, before the engine compiles it. */
export interface LoweredModule extends LoweredFunction {
  readonly code: Uint8Array<ArrayBuffer>;
}

export interface CompiledModule extends LoweredFunction {
  readonly module: WebAssembly.Module;
  /** Of the module. */
  readonly sizeBytes: number;
}

/** What code is specialised on besides itself; MODE and wave size are in the keys of the shapes. */
export interface CompileOptions {
  readonly processor: string;
  readonly spaces: AddressSpaces;
  readonly pages: MemoryPages;
  readonly checksAccesses: boolean;
  readonly vertical: VerticalMode;
  /** What is counted. */
  readonly countsClasses: boolean;
  readonly countsPcs: boolean;
  readonly countsAccesses: boolean;
  readonly tracesWaves: boolean;
}

/** Machine code takes about 16 times as much. */
const MAX_BYTES = 2 ** 24;
let totalBytes = 0;
const modules = new Map<string, CompiledModule | undefined>();

/**
 * Undefined: it cannot be compiled, as `lower` said. What is new in this process counts as work, also where
 * it was compiled by another one: what waves do must not depend on that.
 */
export function compiledModule(
  code: FollowedCode,
  options: CompileOptions,
  work: HostWork,
  lower: () => LoweredModule | undefined,
): CompiledModule | undefined {
  const key = keyOf(code, options);
  let compiled = modules.get(key);
  if (modules.has(key)) modules.delete(key);
  else {
    compiled = compiledOf(keptModule(() => `T1 ${key}`, lower, LOWERED));
    work.compile(compiled?.sizeBytes ?? MAX_CODE_BYTES);
    totalBytes += bytesOf(key, compiled);
  }
  // The map is in order of last use.
  modules.set(key, compiled);
  for (const [oldest, module] of modules) {
    if (totalBytes <= MAX_BYTES || oldest === key) break;
    modules.delete(oldest);
    totalBytes -= bytesOf(oldest, module);
  }
  return compiled;
}

/** A line of JSON, then the module; nothing of code that cannot be compiled. */
const LOWERED: KeptForm<LoweredModule | undefined> = {
  asBytes: (lowered) => {
    if (!lowered) return new Uint8Array();
    const { code, ...about } = lowered;
    return withHead(JSON.stringify(about), code);
  },
  fromBytes: (bytes) => {
    if (bytes.length === 0) return undefined;
    const { head, rest } = headOf(bytes);
    const about: LoweredFunction = JSON.parse(head);
    return { ...about, code: rest };
  },
};

function compiledOf(lowered: LoweredModule | undefined): CompiledModule | undefined {
  if (!lowered) return undefined;
  const { code, ...about } = lowered;
  return { ...about, module: new WebAssembly.Module(code), sizeBytes: code.length };
}

const bytesOf = (key: string, module: CompiledModule | undefined): number => key.length + (module?.sizeBytes ?? 0);

function keyOf({ blocks, followed }: FollowedCode, options: CompileOptions): string {
  const { processor, spaces, pages, checksAccesses, vertical, countsClasses, countsPcs, countsAccesses, tracesWaves } =
    options;
  const parts: (string | number)[] = [
    processor,
    pages.state,
    pages.device,
    `${checksAccesses}`,
    vertical,
    `${countsClasses} ${countsPcs} ${countsAccesses} ${tracesWaves}`,
    ...Object.values(spaces),
  ];
  addBlocks(parts, blocks, new Set());
  if (followed !== blocks) addBlocks(parts, followed, new Set(blocks.flatMap(({ instructions }) => instructions)));
  return parts.join(' ');
}

/** Instructions that are `known` are named by their number alone. */
function addBlocks(parts: (string | number)[], blocks: readonly Block[], known: ReadonlySet<Decoded>): void {
  for (const { instructions, next, target } of blocks) {
    parts.push('\n', next?.index ?? '-', target?.index ?? '-');
    for (const instruction of instructions) {
      if (known.has(instruction)) parts.push('\n', instruction.index);
      else addInstruction(parts, instruction);
    }
  }
}

function addInstruction(parts: (string | number)[], { step, shape, parameter }: Decoded): void {
  parts.push('\n', shape.key);
  for (const [i, operand] of step.operands.entries()) {
    if (operand.kind === 'laneTable') parts.push(operand.bytes.join());
    else parts.push(parameter(i, 0));
    if (operand.kind === 'constant') parts.push(parameter(i, 1));
  }
}
