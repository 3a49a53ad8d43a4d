/**
 * Executables (hsa_executable_t): code objects of one or more agents, linked with each other. Loading registers what a code object
 * defines; freezing resolves every relocation over all of them and over external definitions, in any order (spec/hsa.md section
 * 3.5). A symbol that a code object defines itself always means its own copy.
 */

import { STT_NOTYPE } from '../elf/constants.ts';
import type { ElfSymbol } from '../elf/symbols.ts';
import type { Agent } from './agent.ts';
import { CallGraph } from './call-graph.ts';
import type { ExecutableSymbol } from './executable-symbol.ts';
import { expectHandle } from './handles.ts';
import { PROFILES, ROUNDING_MODES } from './info-table.ts';
import type { Lifetime } from './lifetime.ts';
import { checkCalls, type LinkEntry, linkEntries, mismatches } from './link-map.ts';
import { CodeObjectReader, type Definition, LoadedCodeObject } from './loaded-code-object.ts';
import { LoadedKernel } from './loaded-kernel.ts';
import { loadableRelocation, relocate } from './relocations.ts';
import { HsaError } from './status.ts';

/** Names of undefined symbols that one error lists. */
const MAX_LISTED = 10;
const EXTERNAL = 'external definition';

interface Patch {
  readonly image: DataView;
  readonly offset: number;
  readonly bits: number;
  readonly value: bigint;
}

/** The names that the code objects of one agent share. */
interface Namespace {
  readonly definitions: Map<string, Definition>;
  readonly symbols: Map<string, ExecutableSymbol>;
}

export interface ExecutableOptions {
  /** What the code may rely on; a note for `executableInfo`. Default `base`. */
  profile?: 'base' | 'full';
  /** As above, of kernels that do not say. Default `default`. */
  rounding?: 'default' | 'zero' | 'near';
}

/** What the runtime tells a new executable. */
export interface ExecutableOwner {
  readonly lifetime: Lifetime;
  /** Throws NOT_INITIALIZED and INVALID_AGENT. */
  expectAgent(agent: Agent): void;
  onDispose(executable: Executable): void;
}

export class Executable implements Disposable {
  readonly #codeObjects: LoadedCodeObject[] = [];
  readonly #namespaces = new Map<Agent, Namespace>();
  readonly #symbols: ExecutableSymbol[] = [];
  readonly #owner: ExecutableOwner;
  readonly profile: 'base' | 'full';
  readonly rounding: 'default' | 'zero' | 'near';
  /** Addresses that names have for all agents. */
  readonly #programDefinitions = new Map<string, Definition>();
  #frozen = false;
  #isDisposed = false;

  /** Use `Runtime.createExecutable`. */
  constructor(owner: ExecutableOwner, { profile = 'base', rounding = 'default' }: ExecutableOptions = {}) {
    if (!(profile in PROFILES)) throw new HsaError('INVALID_ARGUMENT', `profile '${profile}'`);
    if (!(rounding in ROUNDING_MODES)) throw new HsaError('INVALID_ARGUMENT', `rounding mode '${rounding}'`);
    this.#owner = owner;
    this.profile = profile;
    this.rounding = rounding;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Throws INVALID_EXECUTABLE, as everything here after disposal. */
  get loadedCodeObjects(): readonly LoadedCodeObject[] {
    this.expectLive();
    return this.#codeObjects;
  }

  /**
   * Loads a code object for a GPU agent. Throws FROZEN_EXECUTABLE, INVALID_CODE_OBJECT, INCOMPATIBLE_ARGUMENTS when it was built
   * for another target, and VARIABLE_ALREADY_DEFINED when two strong definitions share a name.
   */
  loadCodeObject(agent: Agent, reader: CodeObjectReader): LoadedCodeObject {
    this.#expectUnfrozen();
    this.#owner.expectAgent(agent);
    expectHandle(reader, CodeObjectReader, 'INVALID_CODE_OBJECT_READER');
    const codeObject = new LoadedCodeObject(this, agent, reader);
    try {
      const definitions = codeObject.definitions();
      const symbols = codeObject.symbols();
      for (const definition of definitions) this.#checkUnique(agent, definition, reader.name);
      for (const definition of definitions) this.#define(agent, definition);
      this.#symbols.push(...symbols);
      for (const symbol of symbols) this.#defineSymbol(symbol);
    } catch (error) {
      agent.requireDevice().memory.free(codeObject.address);
      throw error;
    }
    this.#codeObjects.push(codeObject);
    return codeObject;
  }

  /** Gives an address to a name that code objects of `agent` leave undefined: a variable or a function. */
  defineVariable(agent: Agent, name: string, address: bigint): void {
    this.#expectUnfrozen();
    this.#owner.expectAgent(agent);
    const definition = externalDefinition(name, address);
    this.#checkUnique(agent, definition, EXTERNAL);
    this.#define(agent, definition);
  }

  /**
   * As `defineVariable`, of one address for all agents (hsa_executable_global_variable_define, _readonly_variable_define). What an agent's code
   * objects and its own definitions say comes first.
   */
  defineProgramVariable(name: string, address: bigint): void {
    this.#expectUnfrozen();
    if (this.#programDefinitions.has(name)) throw alreadyDefined(name, EXTERNAL);
    this.#programDefinitions.set(name, externalDefinition(name, address));
  }

  /** What `defineProgramVariable` was told (hsa_executable_iterate_program_symbols). */
  get programVariables(): ReadonlyMap<string, bigint> {
    this.expectLive();
    return new Map([...this.#programDefinitions].map(([name, { address }]) => [name, address]));
  }

  /** Every symbol that relocations name and what it means with what is loaded and defined now. */
  linkMap(): readonly LinkEntry[] {
    this.expectLive();
    return this.#codeObjects.flatMap((codeObject) => this.#entriesOf(codeObject));
  }

  #entriesOf(codeObject: LoadedCodeObject): LinkEntry[] {
    return linkEntries(codeObject, (name) => this.#definitionFor(codeObject.agent, name));
  }

  #definitionFor(agent: Agent, name: string): Definition | undefined {
    return this.#namespace(agent).definitions.get(name) ?? this.#programDefinitions.get(name);
  }

  /** What is declared otherwise than it is defined, one line each; empty for a valid executable (hsa_executable_validate). */
  validate(): readonly string[] {
    return mismatches(this.linkMap());
  }

  /**
   * Relocates and publishes all code; nothing can be loaded any more. Memory is untouched when it throws: VARIABLE_UNDEFINED with the
   * names that nothing defines, INCOMPATIBLE_ARGUMENTS for calls between code that was built for other waves or arguments.
   */
  freeze(): void {
    this.#expectUnfrozen();
    const entries = this.#codeObjects.map((codeObject) => this.#entriesOf(codeObject));
    const patches = this.#codeObjects.flatMap((codeObject, i) => this.#resolve(codeObject, entries[i]!));
    checkCalls(entries.flat());
    for (const patch of patches) writeField(patch);
    this.#frozen = true;
    // Not only those of names that others see: all of a code object may be hidden.
    for (const agent of new Set(this.#codeObjects.map((codeObject) => codeObject.agent))) this.#link(agent);
    for (const codeObject of this.#codeObjects) {
      codeObject.agent.requireDevice().publishCode(codeObject.publishedCode());
      codeObject.agent.codeObjects.add(codeObject);
    }
  }

  #link(agent: Agent): void {
    const codeObjects = this.#codeObjects.filter((codeObject) => codeObject.agent === agent);
    const lookUp = (name: string) => this.#definitionFor(agent, name)?.address;
    const graph = new CallGraph(codeObjects, agent.requireDevice().properties.wavefrontSize, lookUp);
    for (const codeObject of codeObjects) codeObject.link(graph, codeObjects.length > 1);
    for (const symbol of this.#kernelsOf(agent)) agent.kernels.set(symbol.kernelObject, symbol);
  }

  #kernelsOf(agent: Agent): LoadedKernel[] {
    return this.#symbols.filter(
      (symbol): symbol is LoadedKernel => symbol instanceof LoadedKernel && symbol.agent === agent,
    );
  }

  /** All symbols, module linkage included. */
  get symbols(): readonly ExecutableSymbol[] {
    this.expectLive();
    return this.#symbols;
  }

  /**
   * Symbols of an agent (hsa_executable_iterate_agent_symbols). `functions: false` leaves out device functions, for users who expect
   * what ROCr lists: kernels and variables.
   */
  agentSymbols(agent: Agent, { functions = true }: { functions?: boolean } = {}): readonly ExecutableSymbol[] {
    this.expectLive();
    this.#owner.expectAgent(agent);
    return this.#symbols.filter(
      (symbol) => symbol.agent === agent && (functions || symbol.kind !== 'indirect-function'),
    );
  }

  /** The symbol of program linkage with this name; `agent` is needed when code objects of several agents are loaded. */
  findSymbol(name: string, agent?: Agent): ExecutableSymbol | undefined {
    this.expectLive();
    if (agent !== undefined) this.#owner.expectAgent(agent);
    if (agent !== undefined) return this.#namespaces.get(agent)?.symbols.get(name);
    for (const { symbols } of this.#namespaces.values()) {
      const symbol = symbols.get(name);
      if (symbol !== undefined) return symbol;
    }
    return undefined;
  }

  /** As `findSymbol`. Throws INVALID_SYMBOL_NAME when there is none. */
  getSymbol(name: string, agent?: Agent): ExecutableSymbol {
    const symbol = this.findSymbol(name, agent);
    if (symbol !== undefined) return symbol;
    const files = this.#codeObjects.map((codeObject) => codeObject.name).join(', ');
    throw new HsaError('INVALID_SYMBOL_NAME', `there is no symbol '${name}'`, files === '' ? {} : { file: files });
  }

  /** Withdraws code and frees memory. Idempotent. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    for (const agent of this.#namespaces.keys()) {
      for (const kernel of this.#kernelsOf(agent)) agent.kernels.delete(kernel.kernelObject);
    }
    for (const codeObject of this.#codeObjects) {
      const { agent, address } = codeObject;
      agent.codeObjects.delete(codeObject);
      const device = agent.requireDevice();
      if (this.#frozen) device.withdrawCode(address);
      device.memory.free(address);
    }
    this.#codeObjects.length = 0;
    this.#symbols.length = 0;
    this.#namespaces.clear();
    this.#programDefinitions.clear();
    this.#owner.onDispose(this);
  }

  get isLive(): boolean {
    return !this.#isDisposed;
  }

  /** Throws INVALID_EXECUTABLE after disposal, NOT_INITIALIZED when the runtime was shut down. */
  expectLive(): void {
    this.#owner.lifetime.expect();
    if (this.#isDisposed) throw new HsaError('INVALID_EXECUTABLE', 'the executable was destroyed');
  }

  #expectUnfrozen(): void {
    this.expectLive();
    if (this.#frozen) throw new HsaError('FROZEN_EXECUTABLE', 'the executable is frozen');
  }

  #namespace(agent: Agent): Namespace {
    let namespace = this.#namespaces.get(agent);
    if (namespace === undefined) {
      namespace = { definitions: new Map(), symbols: new Map() };
      this.#namespaces.set(agent, namespace);
    }
    return namespace;
  }

  #checkUnique(agent: Agent, { name, weak }: Definition, file: string): void {
    const known = this.#namespace(agent).definitions.get(name);
    if (known === undefined || known.weak || weak) return;
    throw alreadyDefined(name, file);
  }

  /** Strong wins over weak, the first of two weak ones stays. */
  #define(agent: Agent, definition: Definition): void {
    const { definitions } = this.#namespace(agent);
    const known = definitions.get(definition.name);
    if (known === undefined || (known.weak && !definition.weak)) definitions.set(definition.name, definition);
  }

  #defineSymbol(symbol: ExecutableSymbol): void {
    if (symbol.linkage !== 'program') return;
    const { symbols } = this.#namespace(symbol.agent);
    const known = symbols.get(symbol.name);
    if (known === undefined || (known.binding === 'weak' && symbol.binding === 'strong')) {
      symbols.set(symbol.name, symbol);
    }
  }

  #resolve(codeObject: LoadedCodeObject, entries: readonly LinkEntry[]): Patch[] {
    const missing = entries.filter(({ resolution }) => resolution === 'undefined').map(({ symbol }) => symbol.name);
    const addresses = new Map<ElfSymbol, bigint>(entries.map(({ symbol, address }) => [symbol, address]));
    const { image, loadDelta } = codeObject;
    const patches: Patch[] = [];
    for (const [index, relocation] of codeObject.codeObject.elf.dynamicRelocations.entries()) {
      try {
        const type = loadableRelocation(relocation.type);
        const bits = type.fieldBits;
        if (bits === 0) continue;
        const offset = codeObject.offsetOf(relocation.offset, bits / 8, 'the place that it patches');
        const operands = {
          symbol: relocation.symbol === undefined ? 0n : addresses.get(relocation.symbol)!,
          addend: relocation.addend ?? inPlaceAddend(image, offset, bits),
          place: relocation.offset + loadDelta,
          base: loadDelta,
        };
        patches.push({ image, offset, bits, value: relocate(type, operands) });
      } catch (error) {
        if (!(error instanceof HsaError)) throw error;
        throw error.within({ file: codeObject.name, section: `dynamic relocation ${index}` });
      }
    }
    if (missing.length > 0) throw undefinedSymbols([...new Set(missing)], codeObject.name);
    return patches;
  }
}

function externalDefinition(name: string, address: bigint): Definition {
  if (typeof name !== 'string' || name === '') throw new HsaError('INVALID_ARGUMENT', 'a definition without a name');
  return { name, address, weak: false, type: STT_NOTYPE, codeObject: undefined };
}

function alreadyDefined(name: string, file: string): HsaError {
  return new HsaError('VARIABLE_ALREADY_DEFINED', `symbol '${name}' is already defined in this executable`, { file });
}

function writeField({ image, offset, bits, value }: Patch): void {
  if (bits === 64) image.setBigUint64(offset, value, true);
  else if (bits === 32) image.setUint32(offset, Number(value), true);
  else image.setUint16(offset, Number(value), true);
}

function inPlaceAddend(image: DataView, offset: number, bits: number): bigint {
  if (bits === 64) return image.getBigInt64(offset, true);
  return BigInt(bits === 32 ? image.getInt32(offset, true) : image.getInt16(offset, true));
}

function undefinedSymbols(names: readonly string[], file: string): HsaError {
  const listed = names.slice(0, MAX_LISTED).map((name) => `'${name}'`);
  if (names.length > listed.length) listed.push(`${names.length - listed.length} more`);
  const what = `undefined ${names.length === 1 ? 'symbol' : 'symbols'} ${listed.join(', ')}`;
  return new HsaError('VARIABLE_UNDEFINED', what, {
    file,
    hint: 'load what defines it into the same executable',
  });
}
