/** Constants of executables: variables of code that get their value when it is loaded. */
import type { Executable } from '../../hsa/executables/executable.ts';
import type { VariableSymbol } from '../../hsa/executables/executable-symbol.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import { invalidArgument } from '../core/status.ts';
import type { ExecutableConstants } from '../executables/executable.ts';

/** Names in one hint. */
const MAX_LISTED = 20;
/** No type of a language for kernels needs more. */
const ALIGNMENT_BYTES = 256;

/** Whether kernels cannot write it. */
export const isReadOnly = ({ codeObject, address }: VariableSymbol): boolean =>
  codeObject.constantDword(address) !== undefined;

/**
 * Gives constants to code of an agent that is loaded and not frozen: variables get the bytes in place of
 * theirs, names that nothing defines get memory. Throws INVALID_ARGUMENT for a name that the code does not
 * have, for another number of bytes, and for a value that the compiler may have used already.
 */
export function setConstants(
  runtime: Runtime,
  executable: Executable,
  agent: Agent,
  constants: ExecutableConstants,
): void {
  for (const [name, value] of Object.entries(constants)) {
    if (!ArrayBuffer.isView(value) || value.byteLength === 0) {
      throw invalidArgument(`constant '${name}' is ${typeof value}, expected a view with the bytes of its value`);
    }
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    const symbol = executable.findSymbol(name, agent);
    if (symbol === undefined) defineConstant(executable, agent, name, bytes);
    else if (symbol.kind === 'variable') runtime.view(symbol.address, expectFit(symbol, bytes)).set(bytes);
    else throw invalidArgument(`constant '${name}' is a ${symbol.kind} of ${symbol.codeObject.name}, no variable`);
  }
}

/**
 * What code that is frozen made of its constants. Throws INVALID_ARGUMENT for one that is no constant:
 * linking or a constructor has given its variable another value.
 */
export function expectConstants(
  runtime: Runtime,
  executable: Executable,
  agent: Agent,
  constants: ExecutableConstants,
): void {
  for (const [name, { buffer, byteOffset, byteLength }] of Object.entries(constants)) {
    const symbol = executable.findSymbol(name, agent);
    if (symbol?.kind !== 'variable') continue;
    const found = runtime.view(symbol.address, byteLength);
    const wanted = new Uint8Array(buffer, byteOffset, byteLength);
    if (wanted.every((byte, i) => byte === found[i])) continue;
    const what = `constant '${name}' of ${symbol.codeObject.name} does not keep the value that is given`;
    throw invalidArgument(`${what}: it gets another one when the code is linked, or from a constructor`, {
      hint: 'what holds an address, or is initialised by code, is no constant',
    });
  }
}

/** Returns the number of bytes. */
function expectFit(symbol: VariableSymbol, { length }: Uint8Array): number {
  const { name, sizeBytes, binding } = symbol;
  const what = `constant '${name}' of ${symbol.codeObject.name}`;
  if (length !== sizeBytes) throw invalidArgument(`${what} has ${sizeBytes} bytes, ${length} are given`);
  if (binding === 'weak' || !isReadOnly(symbol)) return length;
  throw invalidArgument(`${what} has a value that cannot change: the compiler may have used it`, {
    hint: 'declare it extern without a value and compile with -c, or give it __attribute__((weak))',
  });
}

function defineConstant(executable: Executable, agent: Agent, name: string, bytes: Uint8Array): void {
  const missing = executable
    .linkMap()
    .filter(({ user, resolution }) => user.agent === agent && (resolution === 'undefined' || resolution === 'absent'))
    .map(({ symbol }) => symbol.name);
  if (!missing.includes(name)) {
    const variables = executable.agentSymbols(agent).filter(({ kind }) => kind === 'variable');
    const names = [...new Set([...missing, ...variables.map((symbol) => symbol.name)])];
    throw invalidArgument(`there is no constant '${name}'`, {
      hint: `the code has ${names.slice(0, MAX_LISTED).join(', ') || 'no variables that others see'}`,
    });
  }
  // As code is: an executable may be given back when its runtime is shut down already.
  const { memory } = agent.requireDevice();
  const label = `constant '${name}'`;
  const address = memory.allocate(bytes.length, { label, readOnly: true, alignmentBytes: ALIGNMENT_BYTES });
  executable.own({ [Symbol.dispose]: () => memory.free(address) });
  memory.view(address, bytes.length).set(bytes);
  executable.defineVariable(agent, name, address);
}
