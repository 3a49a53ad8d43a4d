/** What linking code objects would give, without running anything. */
import { WavewrightError } from '../base/errors.ts';
import { hex, printable } from '../base/text.ts';
import type { Device } from '../device/device.ts';
import { type ConstructorCall, constructorCalls } from '../hsa/executables/constructors.ts';
import type { ExecutableSymbol } from '../hsa/executables/executable-symbol.ts';
import type { LinkEntry } from '../hsa/executables/link-map.ts';
import { CodeObjectReader } from '../hsa/executables/loaded-code-object.ts';
import type { CodeNeeds } from '../hsa/index.ts';
import { createRuntime } from '../hsa/runtime/runtime.ts';
import { table } from '../inspect/report-text.ts';

export const LINK_SCHEMA = 'wavewright.link';
export const LINK_VERSION = 1;

export type LinkReport = ReturnType<typeof describeLink>;

/**
 * Loads the code objects into one executable of the device and freezes it, if it can be; `waveSize` as for
 * that. Addresses are `0x…` as loaded. Throws what loading throws; what freezing would throw stands in
 * `problems`.
 */
export function describeLink(
  device: Device,
  images: readonly { readonly bytes: Uint8Array; readonly name: string; readonly isModule?: boolean }[],
  waveSize?: 32 | 64,
) {
  using runtime = createRuntime({ devices: [device] });
  using executable = runtime.createExecutable();
  for (const { bytes, name, isModule = false } of images) {
    executable.loadCodeObject(runtime.gpuAgents[0]!, new CodeObjectReader(bytes, name), { isModule });
  }
  const relocations = executable.linkMap().map(describeEntry);
  const problems = [...executable.validate()];
  try {
    executable.freeze({ constructors: 'none', ...(waveSize && { waveSize }) });
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
    problems.push(error.message);
  }
  return {
    schema: LINK_SCHEMA,
    version: LINK_VERSION,
    device: device.name,
    symbols: executable.symbols.map(describeSymbol),
    relocations,
    constructors: [...constructorCalls(executable, 'init'), ...constructorCalls(executable, 'fini')].map(describeCall),
    problems,
  };
}

function describeEntry({ user, symbol, relocationCount, resolution, definition }: LinkEntry) {
  const file = resolution === 'own' ? user.name : (definition?.codeObject?.name ?? null);
  return { user: user.name, symbol: symbol.name, relocationCount, resolution, definedBy: file };
}

function describeCall({ phase, kernel, codeObjects }: ConstructorCall) {
  return { phase, kernel: kernel?.name.replace(/\.kd$/, '') ?? null, files: codeObjects.map(({ name }) => name) };
}

function describeSymbol(symbol: ExecutableSymbol) {
  const { name, kind, linkage, binding, address, sizeBytes, codeObject } = symbol;
  const base = { file: codeObject.name, name, kind, linkage, binding, address: hex(address), sizeBytes };
  const needs = symbol.kind === 'variable' ? undefined : symbol.needs;
  const problems = symbol.kind === 'kernel' ? symbol.hardwareProblems : [];
  return { ...base, needs: needs === undefined ? null : describeNeeds(needs), hardwareProblems: [...problems] };
}

/** Leaves out what follows from the direct callees of all functions: it would grow with their square. */
function describeNeeds({ callees, directCallees, ...needs }: CodeNeeds) {
  return { ...needs, directCallees };
}

/** Tables of symbols and relocations, or of one of them, then the problems. */
export function formatLink(report: LinkReport, { symbols, relocations }: { symbols: boolean; relocations: boolean }) {
  const lines: string[] = [];
  if (symbols) {
    const rows = report.symbols.map(({ address, sizeBytes, kind, linkage, binding, needs, file, name }) => {
      const registers = needs === null ? '-' : `${needs.vgprCount} v, ${needs.agprCount} a, ${needs.sgprCount} s`;
      const stack = needs === null ? '-' : `${needs.privateSegmentSizeBytes}${needs.isStackKnown ? '' : ' or more'}`;
      return [address, String(sizeBytes), kind, linkage, binding, registers, stack, file, name];
    });
    const columns = ['address', 'size', 'kind', 'linkage', 'binding', 'registers', 'stack', 'file', 'name'];
    lines.push(`Symbols of the executable on ${report.device}`, ...table(columns, rows), '');
  }
  if (relocations) {
    const rows = report.relocations.map(({ user, symbol, relocationCount, resolution, definedBy }) => {
      return [user, symbol, String(relocationCount), resolution, definedBy ?? '-'];
    });
    lines.push('Symbols that relocations name', ...table(['in', 'symbol', 'count', 'means', 'defined by'], rows), '');
  }
  for (const { name, hardwareProblems } of report.symbols) {
    for (const problem of hardwareProblems) lines.push(`on hardware, ${name.replace(/\.kd$/, '')} ${problem}`);
  }
  for (const { phase, kernel, files } of report.constructors) {
    const [what, when] =
      phase === 'init' ? ['constructors', 'before the first kernel'] : ['destructors', 'after the last kernel'];
    const runs = kernel === null ? `never run: no file has amdgcn.device.${phase}` : `${kernel} runs ${when}`;
    lines.push(`${what} of ${files.join(', ')}: ${runs}`);
  }
  for (const problem of report.problems) lines.push(`problem: ${problem}`);
  if (lines.at(-1) === '') lines.pop();
  return `${lines.map(printable).join('\n')}\n`;
}
