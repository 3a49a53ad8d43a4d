/** Tools into a code object: each says what it wants where, and all of it becomes one new code object. */
import { fnv1a } from '../base/hash.ts';
import type { CodeObject } from '../codeobject/code-object.ts';
import { type InsertedTool, type InsertedVariable, readInsertedTools } from '../codeobject/inserted-tools.ts';
import { type LiftedCode, liftCodeObject } from '../lift/lifted-code.ts';
import { type LiftedFunction, reachedFrom, type TransferSite } from '../lift/lifted-function.ts';
import { CodeRewriter, type InstrumentedCode, type InstrumentOptions } from './instrument.ts';
import type { Coverage } from './points/coverage.ts';
import { PointPayloads } from './points/point-payloads.ts';
import { RegisterPlans } from './points/register-plans.ts';
import { ResidentGroups } from './points/resident-groups.ts';
import { Insertions } from './tool/insertions.ts';
import type { Interval, ToolOptionTable, ToolOptionValues } from './tool/options.ts';
import type { ToolResult } from './tool/result.ts';
import type { Tool, ToolRun } from './tool/tool.ts';
import { ToolCode, type ToolSelection } from './tool/tool-code.ts';
import { type ToolFunction, toolFunctions } from './tool/tool-function.ts';
import type { ToolVariable } from './tool/variables.ts';

/** A tool, and what it is to look at. */
export interface ToolUse {
  readonly tool: Tool;
  readonly values: ToolOptionValues<ToolOptionTable>;
  /** Kernels whose name matches, with all that they call. */
  readonly kernels: Pick<RegExp, 'test'>;
  /** Of each function, by position. */
  readonly instructions: Interval;
}

export interface InstrumentedImage extends InstrumentedCode {
  readonly name: string;
  /** Variables of the tools, in their order. */
  readonly variables: readonly (readonly ToolVariable[])[];
  /** What the file says of the tools, and of those that were in it before. */
  readonly inserted: readonly InsertedTool[];
  /** What makes the results of the tools, in their order. */
  readonly reports: readonly ((run: ToolRun) => ToolResult)[];
  readonly coverage: Coverage;
  /** The `firstLayer` of the next code object that is linked with this one. */
  readonly nextLayer: number;
}

/** A code object whose code is known, to be instrumented several times. */
export interface OpenedImage {
  readonly name: string;
  readonly lifted: LiftedCode;
  readonly functions: readonly ToolFunction[];
}

export interface ImageOptions extends Pick<InstrumentOptions, 'isChosen' | 'keepsNatives' | 'isApart'> {
  /** Numbers in names of variables begin with it, as those of code objects that are linked must differ. */
  readonly firstLayer?: number;
}

interface Image {
  readonly bytes: Uint8Array;
  readonly name: string;
}

/** What symbols of tools begin with; code that is instrumented again has several. */
const PREFIX = '__wavewright_';

/**
 * Throws what `liftCodeObject` and `instrumentCodeObject` throw, and what the tools throw. Points that cannot
 * be served are counted in the coverage and run as they were.
 */
export function instrumentImage(
  image: Image | OpenedImage,
  uses: readonly ToolUse[],
  options: ImageOptions = {},
): InstrumentedImage {
  const found: Findings = { without: new Set(), cramped: new Set() };
  for (;;) {
    const { image: instrumented, findings } = attempt(image, uses, options, found);
    const sizeBefore = found.without.size + found.cramped.size;
    for (const entry of findings.without) found.without.add(entry);
    for (const entry of findings.cramped) found.cramped.add(entry);
    if (found.without.size + found.cramped.size === sizeBefore) return instrumented;
  }
}

/** What is known of functions, by their entries, once it was tried. */
interface Findings {
  /** Points were refused that other numbers depend on: tools do not count in registers there. */
  readonly without: Set<number>;
  /** No registers were found for points: they need memory. */
  readonly cramped: Set<number>;
}

function attempt(
  image: Image | OpenedImage,
  uses: readonly ToolUse[],
  options: ImageOptions,
  { without, cramped }: Findings,
): { readonly image: InstrumentedImage; readonly findings: Findings } {
  const { name } = image;
  const rewriter = new CodeRewriter('lifted' in image ? image.lifted : image.bytes, { ...options, name });
  const { lifted } = rewriter;
  const { codeObject } = lifted;
  const functions = 'lifted' in image ? image.functions : toolFunctions(lifted);
  const insertions = new Insertions();
  const plans = new RegisterPlans(lifted, {
    isMoved: (kernel) => rewriter.isMoved(kernel),
    // What stays is run by others, as it was.
    isUser: (kernel) => !options.isApart || !options.isChosen || options.isChosen(kernel.name),
  });
  const layer = firstLayerOf(codeObject, options);
  // Files that are instrumented apart may come to be linked with each other: their names differ.
  const contents = uses.map((use) => (options.isApart ? '' : `${contentName(codeObject, use)}_`));
  const prefixes = uses.map((_, i) => `${PREFIX}${layer + i}_${contents[i]}`);
  // Code that is loaded apart leaves tables to what was there before.
  const staysOutside = ({ how }: TransferSite): boolean => options.isApart === true && how === 'table';
  const isWithout = ({ entry, sites }: LiftedFunction): boolean => without.has(entry) || sites.some(staysOutside);
  const residents = prefixes.map((prefix) => new ResidentGroups(lifted, plans, prefix, isWithout));
  const { isChosen = () => true } = options;
  const codes = uses.map(({ kernels, instructions }, i) => {
    const selection: ToolSelection = {
      functions: selectedFunctions(functions, (kernel) => kernels.test(kernel) && isChosen(kernel)),
      instructions,
      launchOf: (each) => plans.persistentOf(each)?.launch ?? {},
      scratchOf: (each) => plans.persistentOf(each)?.scratch ?? 'nothing is known of the kernels that run it',
      residentsOf: (each) => residents[i]!.of(each),
    };
    return new ToolCode(codeObject.target.processor, selection, insertions, prefixes[i]!);
  });
  const reports = uses.map(({ tool, values }, i) => tool.attach(codes[i]!, values));
  for (const each of residents) each.flushIn(functions, insertions);
  const variables = codes.map((code, i) => [...code.variables, ...residents[i]!.variables]);
  const inserted = [
    ...(readInsertedTools(codeObject.elf) ?? []),
    ...uses.map((use, i) => insertedTool(use, codes[i]!, variables[i]!)),
  ];
  for (const each of lifted.functions) if (cramped.has(each.entry)) plans.giveMemory(each);
  const payloads = new PointPayloads(lifted, plans, insertions);
  const { keepsNatives = false, isApart = false } = options;
  const instrumented = rewriter.rewrite({
    ...{ keepsNatives, isApart },
    preambleOf: (kernels) => plans.preambleOf(kernels),
    edit: (step) => payloads.editOf(step.offset),
    inserted,
    variables: variables.flat(),
    kernelChanges: (kernel) => payloads.changesOf(kernel),
  });
  const coverage = payloads.coverage(instrumented, staysOutside);
  const made = { ...instrumented, name, variables, inserted, reports, coverage, nextLayer: layer + uses.length };
  const more = new Set([...payloads.cramped].map(({ entry }) => entry));
  return { image: made, findings: { without: payloads.lacking, cramped: more } };
}

function insertedTool(
  { tool: { name, summary }, values, kernels }: ToolUse,
  code: ToolCode,
  variables: readonly ToolVariable[],
): InsertedTool {
  const described = variables.map((variable): InsertedVariable => {
    const { name: called, symbol, sizeBytes, kind, parts = [] } = variable;
    return {
      ...{ name: called, symbol, sizeBytes, kind, parts },
      // As many as instructions: they are made for who asks, and kept by nobody.
      get points() {
        return code.pointsOf(variable);
      },
    };
  });
  // An empty expression has a source of its own.
  const source = kernels instanceof RegExp && kernels.source !== '(?:)' ? kernels.source : '';
  return { name, summary, options: values, kernels: source, variables: described };
}

/** Differs where the code or the tool does. */
function contentName({ elf }: CodeObject, { tool, values, kernels, instructions }: ToolUse): string {
  const what = `${tool.name} ${JSON.stringify(values)} ${kernels} ${instructions.begin} ${instructions.end}`;
  const hash = fnv1a(elf.bytes, fnv1a(new TextEncoder().encode(what)));
  return hash.toString(16).padStart(8, '0');
}

/** A linked code object for `instrumentImage`. Throws what `liftCodeObject` throws. */
export function openImage(codeObject: CodeObject): OpenedImage {
  const lifted = liftCodeObject(codeObject);
  return { name: codeObject.name, lifted, functions: toolFunctions(lifted) };
}

/** The number in names of the first tool's variables: above those of code that is instrumented again. */
function firstLayerOf({ elf }: CodeObject, { firstLayer = 0 }: ImageOptions): number {
  const known = elf.symbols.concat(elf.dynamicSymbols);
  const layers = known.flatMap((symbol) => /^__wavewright_(\d+)_/.exec(symbol.name)?.[1] ?? []);
  return Math.max(firstLayer, ...layers.map((each) => Number(each) + 1));
}

/**
 * Functions that kernels reach which are selected; without such kernels there are none. A code object that
 * has no kernels at all is there for those of others: all its functions are meant.
 */
function selectedFunctions(
  functions: readonly ToolFunction[],
  isSelected: (kernel: string) => boolean,
): readonly ToolFunction[] {
  if (!functions.some(({ isKernel }) => isKernel)) return functions;
  const reached = new Set<LiftedFunction>();
  // Code that is called through pointers may be any that others can get the address of.
  const exposed = functions.filter(({ lifted, isKernel }) => lifted.isExposed && !isKernel);
  const open = reachedFrom(exposed.map(({ lifted }) => lifted));
  for (const { lifted } of functions) {
    if (!lifted.kernels.some(({ name }) => isSelected(name))) continue;
    const { functions: inside, isComplete } = lifted.reaches();
    for (const each of inside) reached.add(each);
    if (!isComplete) for (const each of open) reached.add(each);
  }
  return functions.filter(({ lifted }) => reached.has(lifted));
}
