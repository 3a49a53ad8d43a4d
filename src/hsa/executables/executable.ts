/**
 * Executables (hsa_executable_t): code objects of one or more agents, linked with each other. Loading
 * registers what a code object defines; freezing resolves every relocation over all of them and over external
 * definitions, in any order. What names mean, `LinkScope` says.
 */

import { STT_NOTYPE, STV_DEFAULT } from '../../elf/constants.ts';
import type { ElfSymbol } from '../../elf/symbols.ts';
import { CallGraph } from '../../lift/call-graph.ts';
import { isLinkerDefined } from '../../linker/link-inputs.ts';
import type { Agent } from '../objects/agent.ts';
import { expectHandle } from '../objects/handles.ts';
import { PROFILES, ROUNDING_MODES } from '../objects/info-table.ts';
import type { Lifetime } from '../objects/lifetime.ts';
import { HsaError } from '../objects/status.ts';
import { LinkedCodeView } from './code-view.ts';
import { type ConstructorCall, type ConstructorOptions, constructorCalls } from './constructors.ts';
import { type ExecutableSymbol, executableSymbols } from './executable-symbol.ts';
import { FunctionArrays } from './function-arrays.ts';
import type { KernelSymbol } from './kernel-symbol.ts';
import { checkCalls, type LinkEntry, linkEntries, mismatches, undefinedSymbols } from './link-map.ts';
import { alreadyDefined, LinkScope } from './link-scope.ts';
import { CodeObjectReader, type Definition, LoadedCodeObject } from './loaded-code-object.ts';
import { loadableRelocation, relocate } from './relocations.ts';

const EXTERNAL = 'external definition';

interface Patch {
  readonly image: DataView;
  readonly offset: number;
  readonly bits: number;
  readonly value: bigint;
}

export interface ExecutableOptions {
  /** What the code may rely on; a note for `executableInfo`. Default `base`. */
  profile?: 'base' | 'full';
  /** The rounding of kernels that do not say theirs; also a note. Default `default`. */
  rounding?: 'default' | 'zero' | 'near';
}

/** What an executable has of its runtime. */
export interface ExecutableOwner {
  readonly lifetime: Lifetime;
  /** Throws NOT_INITIALIZED and INVALID_AGENT. */
  expectAgent(agent: Agent): void;
  onDispose(executable: Executable): void;
  runConstructors(calls: readonly ConstructorCall[], options: ConstructorOptions): void;
}

export interface LoadOptions {
  /**
   * Whether its own definitions are its own, however many other code objects have the same: HIP compiles each
   * source file of a program to such a module, unless -fgpu-rdc is given. Default false.
   */
  readonly isModule?: boolean;
}

export interface FreezeOptions extends ConstructorOptions {
  /**
   * Whether the constructors of what is loaded run now; `none` for who starts their kernels himself. Default
   * `run`.
   */
  readonly constructors?: 'run' | 'none';
  /**
   * What code was compiled for that does not show it: libraries without kernels on targets with waves of 32
   * and of 64 lanes.
   */
  readonly waveSize?: 32 | 64;
}

export class Executable implements Disposable {
  readonly #codeObjects: LoadedCodeObject[] = [];
  readonly #scopes = new Map<Agent, LinkScope>();
  readonly #arrays = new Map<Agent, FunctionArrays>();
  readonly #symbols: ExecutableSymbol[] = [];
  readonly #owner: ExecutableOwner;
  readonly profile: 'base' | 'full';
  readonly rounding: 'default' | 'zero' | 'near';
  /** Addresses that names have for all agents. */
  readonly #programDefinitions = new Map<string, Definition>();
  readonly #dependents: Disposable[] = [];
  #frozen = false;
  #hasDestructors = false;
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
   * Loads a code object for a GPU agent. Throws FROZEN_EXECUTABLE, INVALID_CODE_OBJECT,
   * INCOMPATIBLE_ARGUMENTS when it was built for another target, and VARIABLE_ALREADY_DEFINED when two strong
   * definitions share a name.
   */
  loadCodeObject(agent: Agent, reader: CodeObjectReader, { isModule = false }: LoadOptions = {}): LoadedCodeObject {
    this.#expectUnfrozen();
    this.#owner.expectAgent(agent);
    expectHandle(reader, CodeObjectReader, 'INVALID_CODE_OBJECT_READER');
    const groups = this.#scopes.get(agent)?.groups ?? new Set();
    const codeObject = new LoadedCodeObject(this, agent, reader, { groups, isModule });
    try {
      const scope = this.#scope(agent);
      const definitions = codeObject.definitions();
      const symbols = executableSymbols(codeObject);
      for (const definition of definitions) scope.expectUnique(definition, reader.name);
      for (const definition of definitions) scope.define(definition);
      scope.add(codeObject, symbols);
      scope.groups = codeObject.groups;
      this.#symbols.push(...symbols);
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
    this.#scope(agent).expectUnique(definition, EXTERNAL);
    this.#scope(agent).define(definition);
  }

  /**
   * As `defineVariable`, of one address for all agents (hsa_executable_global_variable_define,
   * _readonly_variable_define). What an agent's code objects and its own definitions say comes first.
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
    return linkEntries(codeObject, (name) => this.#definitionFor(codeObject, name));
  }

  /** What the name means to `user`. */
  #definitionFor(user: LoadedCodeObject, name: string): Definition | undefined {
    const scope = this.#scope(user.agent);
    const definition = scope.lookUp(name, user);
    if (definition !== undefined || !user.isRelocatable) return definition ?? this.#programDefinitions.get(name);
    if (isLinkerDefined(name)) return linkerDefinition(name, this.#arrays.get(user.agent)?.addressOf(name) ?? 0n);
    return scope.isInternal(name) ? undefined : this.#programDefinitions.get(name);
  }

  /**
   * What is declared otherwise than it is defined, one line each; empty for a valid executable
   * (hsa_executable_validate).
   */
  validate(): readonly string[] {
    return mismatches(this.linkMap());
  }

  /**
   * Relocates and publishes all code, then runs its constructors; nothing can be loaded any more. Memory is
   * untouched when linking throws: VARIABLE_UNDEFINED with the names that nothing defines,
   * INCOMPATIBLE_ARGUMENTS for calls between code that was built for other waves or arguments. Constructors
   * throw what kernels throw, GPU_FAULT and TIMEOUT; the executable is frozen then.
   */
  freeze({ constructors = 'run', waveSize, ...how }: FreezeOptions = {}): void {
    this.#expectUnfrozen();
    for (const agent of this.#scopes.keys()) {
      if (!this.#arrays.has(agent))
        this.#arrays.set(agent, new FunctionArrays(this.#codeObjectsOf(agent), agent.requireDevice().memory));
    }
    const entries = this.#codeObjects.map((codeObject) => this.#entriesOf(codeObject));
    const patches = this.#codeObjects.flatMap((codeObject, i) => this.#resolve(codeObject, entries[i]!));
    checkCalls(entries.flat(), waveSize);
    for (const patch of patches) writeField(patch);
    for (const arrays of this.#arrays.values()) arrays.fill();
    this.#frozen = true;
    for (const agent of this.#scopes.keys()) this.#link(agent, waveSize);
    for (const codeObject of this.#codeObjects) {
      codeObject.agent.requireDevice().publishCode(codeObject.publishedCode());
      codeObject.agent.codeObjects.add(codeObject);
    }
    if (constructors === 'none') return;
    this.#owner.runConstructors(constructorCalls(this, 'init'), how);
    this.#hasDestructors = true;
  }

  /**
   * Runs the destructors of what `freeze` constructed, once; disposal does not. Throws what kernels throw.
   */
  runDestructors(options: ConstructorOptions = {}): void {
    this.expectLive();
    if (!this.#hasDestructors) return;
    this.#hasDestructors = false;
    this.#owner.runConstructors(constructorCalls(this, 'fini'), options);
  }

  #link(agent: Agent, waveSize: 32 | 64 | undefined): void {
    const codeObjects = this.#codeObjectsOf(agent);
    const code = codeObjects.map(
      (codeObject) => new LinkedCodeView(codeObject, (name) => this.#definitionFor(codeObject, name)?.address),
    );
    const graph = new CallGraph(code, waveSize ?? agent.requireDevice().properties.wavefrontSize);
    for (const symbol of this.#symbols) {
      if (symbol.agent !== agent) continue;
      symbol.link(graph, codeObjects.length > 1);
      if (symbol.kind === 'kernel') agent.kernels.set(symbol.kernelObject, symbol);
    }
  }

  #codeObjectsOf(agent: Agent): LoadedCodeObject[] {
    return this.#codeObjects.filter((codeObject) => codeObject.agent === agent);
  }

  #kernelsOf(agent: Agent): KernelSymbol[] {
    return this.#symbols.filter((symbol) => symbol.kind === 'kernel').filter((kernel) => kernel.agent === agent);
  }

  /** All symbols, module linkage included. */
  get symbols(): readonly ExecutableSymbol[] {
    this.expectLive();
    return this.#symbols;
  }

  /**
   * Symbols of an agent (hsa_executable_iterate_agent_symbols). `functions: false` leaves out device
   * functions, for users who expect what ROCr lists: kernels and variables.
   */
  agentSymbols(agent: Agent, { functions = true }: { functions?: boolean } = {}): readonly ExecutableSymbol[] {
    this.expectLive();
    this.#owner.expectAgent(agent);
    return this.#symbols.filter(
      (symbol) => symbol.agent === agent && (functions || symbol.kind !== 'indirect-function'),
    );
  }

  /**
   * The symbol of program linkage with this name; `agent` is needed when code objects of several agents are
   * loaded.
   */
  findSymbol(name: string, agent?: Agent): ExecutableSymbol | undefined {
    this.expectLive();
    if (agent !== undefined) this.#owner.expectAgent(agent);
    if (agent !== undefined) return this.#scopes.get(agent)?.symbolNamed(name);
    for (const scope of this.#scopes.values()) {
      const symbol = scope.symbolNamed(name);
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

  /** What depends on the code, such as other versions of its kernels, is disposed before the code goes. */
  own(dependent: Disposable): void {
    this.expectLive();
    this.#dependents.push(dependent);
  }

  /** Withdraws code and frees memory. Idempotent. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    for (const dependent of this.#dependents.splice(0).reverse()) dependent[Symbol.dispose]();
    for (const agent of this.#scopes.keys()) {
      for (const kernel of this.#kernelsOf(agent)) agent.kernels.delete(kernel.kernelObject);
    }
    for (const codeObject of this.#codeObjects) {
      const { agent, address } = codeObject;
      agent.codeObjects.delete(codeObject);
      const device = agent.requireDevice();
      if (this.#frozen) device.withdrawCode(address);
      device.memory.free(address);
    }
    for (const arrays of this.#arrays.values()) arrays[Symbol.dispose]();
    this.#codeObjects.length = 0;
    this.#symbols.length = 0;
    this.#scopes.clear();
    this.#arrays.clear();
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

  #scope(agent: Agent): LinkScope {
    let scope = this.#scopes.get(agent);
    if (scope === undefined) {
      scope = new LinkScope();
      this.#scopes.set(agent, scope);
    }
    return scope;
  }

  #resolve(codeObject: LoadedCodeObject, entries: readonly LinkEntry[]): Patch[] {
    const missing = entries.filter(({ resolution }) => resolution === 'undefined');
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
    if (missing.length > 0) throw undefinedSymbols(missing, this.#codeObjectsOf(codeObject.agent));
    return patches;
  }
}

function externalDefinition(name: string, address: bigint): Definition {
  if (typeof name !== 'string' || name === '') throw new HsaError('INVALID_ARGUMENT', 'a definition without a name');
  return { ...linkerDefinition(name, address), strength: 'strong' };
}

/** What no code object defines. */
function linkerDefinition(name: string, address: bigint): Definition {
  const nothing = { type: STT_NOTYPE, visibility: STV_DEFAULT, sizeBytes: 0, codeObject: undefined } as const;
  return { name, address, strength: 'weak', ...nothing };
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
