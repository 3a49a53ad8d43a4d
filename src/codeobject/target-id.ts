import { type ErrorContext, WavewrightError } from '../base/errors.ts';
import { type Processor, processorNamed } from './processors.ts';

/**
 * How code was built with regard to a target feature: `any` runs whatever the agent's setting is,
 * `unsupported` means that the processor has no choice.
 */
export type FeatureSetting = 'unsupported' | 'any' | 'off' | 'on';

/** A processor with its target features (LLVM AMDGPU usage, "Target ID"). */
export interface TargetId {
  /** e.g. `gfx90a`. */
  processor: string;
  xnack: FeatureSetting;
  sramecc: FeatureSetting;
}

/** What bad text throws: `USAGE` for what a user wrote, `BAD_INPUT` for what stands in a file. */
export interface TargetIdErrors {
  code?: 'USAGE' | 'BAD_INPUT';
  context?: ErrorContext;
}

// LLVM 24 spells the architecture amdgpu with a version, e.g. amdgpu12.50.
const TRIPLE = /^amdg(?:cn|pu[0-9a-f.]*)-amd-amdhsa-(?:unknown)?-(.*)$/;

/**
 * Parses a target id with or without its triple: `gfx90a`, `gfx90a:sramecc+:xnack-`,
 * `amdgcn-amd-amdhsa--gfx90a:xnack+`. A feature that the processor has and the text does not name is `any`.
 */
export function parseTargetId(text: string, { code = 'USAGE', context = {} }: TargetIdErrors = {}): TargetId {
  const fail = (what: string): never => {
    throw new WavewrightError(code, `target id '${text}': ${what}`, context);
  };
  const [name = '', ...features] = (TRIPLE.exec(text)?.[1] ?? text).split(':');
  const processor = processorNamed(name) ?? fail(`unknown processor '${name}'`);
  const target = defaultTargetId(processor);
  const seen = new Set<string>();
  for (const feature of features) {
    const match = /^(xnack|sramecc)([+-])$/.exec(feature);
    if (match === null) return fail(`unknown feature '${feature}', expected xnack+, xnack-, sramecc+ or sramecc-`);
    const key = match[1] === 'xnack' ? 'xnack' : 'sramecc';
    if (seen.has(key)) fail(`feature ${key} appears twice`);
    if (!processor[key]) fail(`${name} has no choice of ${key}`);
    seen.add(key);
    target[key] = match[2] === '+' ? 'on' : 'off';
  }
  return target;
}

/** The processor with every feature that it has at `any`. */
export function defaultTargetId(processor: Processor): TargetId {
  return {
    processor: processor.name,
    xnack: processor.xnack ? 'any' : 'unsupported',
    sramecc: processor.sramecc ? 'any' : 'unsupported',
  };
}

/** The canonical text: features that are on or off, in alphabetical order, e.g. `gfx90a:sramecc+:xnack-`. */
export function formatTargetId(target: TargetId): string {
  return `${target.processor}${formatFeature('sramecc', target.sramecc)}${formatFeature('xnack', target.xnack)}`;
}

function formatFeature(name: string, setting: FeatureSetting): string {
  return setting === 'on' ? `:${name}+` : setting === 'off' ? `:${name}-` : '';
}

/** The name that HSA gives the instruction set: `amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`. */
export function formatIsaName(target: TargetId): string {
  return `amdgcn-amd-amdhsa--${formatTargetId(target)}`;
}

/** What code was built for: a target id, and the version of a generic processor (0 for all others). */
export interface CodeObjectTarget extends TargetId {
  genericVersion: number;
}

/** What of a target keeps code from running, by the names that IREE's error has. */
export type TargetMismatch = 'processor' | 'generic family' | 'generic version' | 'sramecc' | 'xnack';

/**
 * Everything of the target that keeps code built for `code` from running on `agent`, with why; empty when it
 * runs. The processor must be the same, or a generic one that includes the agent's; a feature that is on or
 * off must equal the agent's. `any` on either side matches.
 */
export function targetMismatches(
  code: CodeObjectTarget,
  agent: TargetId,
): { readonly mismatch: TargetMismatch; readonly reason: string }[] {
  const found = processorMismatch(code, agent);
  for (const feature of ['xnack', 'sramecc'] as const) {
    const wanted = code[feature];
    const has = agent[feature];
    if ((wanted !== 'on' && wanted !== 'off') || has === 'any' || has === wanted) continue;
    found.push({ mismatch: feature, reason: `it was built with ${feature} ${wanted}, the agent has it ${has}` });
  }
  return found;
}

function processorMismatch(code: CodeObjectTarget, agent: TargetId): ReturnType<typeof targetMismatches> {
  if (code.processor === agent.processor) return [];
  const generic = processorNamed(agent.processor)?.generic;
  if (generic?.name !== code.processor) {
    const mismatch = processorNamed(code.processor)?.isGeneric ? 'generic family' : 'processor';
    return [{ mismatch, reason: `it was built for ${code.processor}, not for ${agent.processor}` }];
  }
  if (code.genericVersion >= generic.sinceVersion) return [];
  const needed = `version ${generic.sinceVersion} or higher`;
  const built = `it was built for version ${code.genericVersion} of ${code.processor}`;
  return [{ mismatch: 'generic version', reason: `${built}, ${agent.processor} needs ${needed}` }];
}

/** The reasons of `targetMismatches` in a sentence; `undefined` when the code can run. */
export function explainIncompatibility(code: CodeObjectTarget, agent: TargetId): string | undefined {
  const found = targetMismatches(code, agent);
  return found.length === 0 ? undefined : found.map(({ reason }) => reason).join(', and ');
}
