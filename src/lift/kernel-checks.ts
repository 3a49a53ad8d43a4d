/** Whether what a kernel's descriptor and metadata say fits each other, the processor, and the code. */
import { alignUp } from '../base/align.ts';
import type { Kernel } from '../codeobject/code-object.ts';
import {
  type KernelDescriptor,
  SGPR_ALLOCATION_GRANULE,
  scalarRegisterCount,
  vectorRegisterCount,
  wavefrontSize,
} from '../codeobject/kernel-descriptor.ts';
import { maxWorkgroupSizeByVgprs } from '../codeobject/occupancy.ts';
import type { RegisterFile } from '../ir/effects.ts';
import { SGPR_VCC_LO } from '../isa/amdgpu/encoding/registers.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import type { CodeFinding } from './finding.ts';
import type { LiftedFunction } from './lifted-function.ts';

type Counts = Readonly<Record<RegisterFile, number>>;

const ACCUM_OFFSET_GRANULE = 4;

/** Registers of each file that a wave gets; SGPRs those with numbers. */
export function grantedRegisters(descriptor: KernelDescriptor, processor: string): Counts {
  const { unifiedVgprs, hasAccumulators, scalars } = targetFor(processor);
  const allocated = alignUp(scalarRegisterCount(descriptor), SGPR_ALLOCATION_GRANULE);
  const scalar = Math.min(allocated, scalars.sgprCount);
  const total = vectorRegisterCount(descriptor);
  if (!unifiedVgprs) return { scalar, vector: total, accumulator: hasAccumulators ? total : 0 };
  const vector = Math.min(total, ((descriptor.rsrc3.accumOffset ?? 0) + 1) * ACCUM_OFFSET_GRANULE);
  return { scalar, vector, accumulator: total - vector };
}

const LETTERS: Readonly<Record<RegisterFile, string>> = { scalar: 's', vector: 'v', accumulator: 'a' };

/**
 * What the function surely goes to. Of a pointer that is one of several it is not known which kernel takes
 * which; and what seems to run on into the next function may stand behind a call that never comes back.
 */
function surelyReached(entered: LiftedFunction): ReadonlySet<LiftedFunction> {
  const found = new Set([entered]);
  for (const { sites, callees } of found) {
    const targets = new Set(sites.flatMap((site) => (site.targets.length === 1 ? site.targets : [])));
    for (const callee of callees) if (targets.has(callee.entry)) found.add(callee);
  }
  return found;
}

/** The first instruction of each file with a register that the wave does not have. */
export function* registerFindings(kernel: Kernel, entered: LiftedFunction, processor: string): Generator<CodeFinding> {
  const granted = grantedRegisters(kernel.descriptor, processor);
  const end = Math.min(targetFor(processor).scalars.sgprCount, SGPR_VCC_LO);
  const found = new Set<RegisterFile>();
  for (const { blocks } of surelyReached(entered)) {
    for (const step of blocks.flatMap(({ instructions }) => instructions)) {
      const { reads, writes } = step.effects;
      for (const { file, first, dwords } of [...reads, ...writes]) {
        if (found.has(file) || (file === 'scalar' && first >= end) || first + dwords <= granted[file]) continue;
        found.add(file);
        const name = `${LETTERS[file]}${first + dwords - 1}`;
        const text = `${name} is used, but waves of '${kernel.name}' have ${granted[file]} registers of its kind`;
        yield { address: step.offset, rule: 'register-count', text, hint: 'raise the count in the kernel descriptor' };
      }
    }
  }
}

/** What the metadata says twice, and what has to fit. */
export function* descriptorFindings(kernel: Kernel, processor: string): Generator<CodeFinding> {
  const { descriptor, metadata, name } = kernel;
  const at = { address: Number(kernel.symbol.value), rule: 'descriptor', hint: undefined } as const;
  const entry = Number(kernel.entryAddress);
  if (entry % 256 !== 0) yield { ...at, text: `the entry of '${name}' is no multiple of 256` };
  const { lengthDwords } = descriptor.kernargPreload;
  if (lengthDwords > descriptor.rsrc2.userSgprCount)
    yield {
      ...at,
      text: `'${name}' preloads ${lengthDwords} dwords into ${descriptor.rsrc2.userSgprCount} user SGPRs`,
    };
  if (targetFor(processor).unifiedVgprs) {
    const accumOffset = ((descriptor.rsrc3.accumOffset ?? 0) + 1) * ACCUM_OFFSET_GRANULE;
    const total = vectorRegisterCount(descriptor);
    if (accumOffset > Math.ceil(total / 8) * 8)
      yield { ...at, text: `AGPRs of '${name}' begin behind its ${total} registers, at ${accumOffset}` };
  }
  if (!metadata) return;
  const sizes = [
    ['LDS', descriptor.groupSegmentFixedSizeBytes, metadata.groupSegmentFixedSizeBytes],
    ['private memory', descriptor.privateSegmentFixedSizeBytes, metadata.privateSegmentFixedSizeBytes],
    ['wave size', wavefrontSize(descriptor), metadata.wavefrontSize],
    ...(descriptor.kernargSizeBytes === 0
      ? []
      : [['size of arguments', descriptor.kernargSizeBytes, metadata.kernargSegmentSizeBytes] as const]),
  ] as const;
  for (const [what, own, other] of sizes) {
    if (own !== other)
      yield { ...at, text: `${what} of '${name}': ${own} in the descriptor, ${other} in the metadata` };
  }
  const counts = [
    ['VGPRs', vectorRegisterCount(descriptor), metadata.vgprCount],
    ['SGPRs', scalarRegisterCount(descriptor), metadata.sgprCount],
    ['AGPRs', grantedRegisters(descriptor, processor).accumulator, metadata.agprCount ?? 0],
  ] as const;
  for (const [what, granted, needed] of counts) {
    if (needed > granted)
      yield { ...at, text: `'${name}' has ${granted} ${what} by its descriptor, ${needed} by its metadata` };
  }
  yield* occupancyFindings(kernel, processor);
}

/** All waves of a workgroup run at once, so that its registers and its LDS have to be there. */
function* occupancyFindings({ descriptor, metadata, name, symbol }: Kernel, processor: string): Generator<CodeFinding> {
  const size = metadata?.maxFlatWorkgroupSize ?? 0;
  const vgprs = vectorRegisterCount(descriptor);
  const most = maxWorkgroupSizeByVgprs({ processor, vgprs, wavefrontSize: wavefrontSize(descriptor) });
  if (most === undefined || size <= most) return;
  const text = `a workgroup of '${name}' has up to ${size} work-items, of which ${most} fit with ${vgprs} VGPRs`;
  const hint = 'use fewer VGPRs, or allow fewer work-items (__launch_bounds__, .max_flat_workgroup_size)';
  yield { address: Number(symbol.value), rule: 'occupancy', text, hint };
}
