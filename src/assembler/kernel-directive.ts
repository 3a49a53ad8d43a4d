/**
 * `.amdhsa_kernel` to `.end_amdhsa_kernel`: the kernel descriptor. Directives, defaults and limits: LLVM
 * "User Guide for AMDGPU Backend", "Code Object V3 and Above Predefined Symbols" and "... Directives".
 */
import { alignUp } from '../base/align.ts';
import { WavewrightError } from '../base/errors.ts';
import {
  decodeKernelDescriptor,
  encodeKernelDescriptor,
  KERNEL_DESCRIPTOR_SIZE_BYTES,
  type KernelDescriptor,
} from '../codeobject/kernel-descriptor.ts';
import { type ProcessorFamily, processorNamed } from '../codeobject/processors.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { Assembly, LateStep } from './assembly.ts';
import type { AssemblyTarget } from './assembly-target.ts';
import { extraSgprs } from './kernel-resources.ts';
import type { AssemblyLine } from './source.ts';

const FAMILIES: readonly ProcessorFamily[] = ['gfx9', 'gfx90a', 'gfx10', 'gfx11', 'gfx12'];

/** What the directives of one kernel have said so far. */
interface Kernel {
  readonly descriptor: KernelDescriptor;
  readonly target: AssemblyTarget;
  readonly seen: Set<string>;
  /** SGPRs that the enabled inputs take. */
  userSgprs: number;
  userSgprCount: number | undefined;
  nextFreeVgpr: number;
  nextFreeSgpr: number;
  accumOffset: number;
  reserveVcc: boolean;
  reserveFlatScratch: boolean;
  reserveXnackMask: boolean;
}

interface KernelDirective {
  /** The highest value. */
  readonly limit: number;
  readonly set: (kernel: Kernel, value: number) => void;
  readonly families?: readonly ProcessorFamily[];
  /** Only with or without scratch addresses that hardware sets up. */
  readonly architectedFlatScratch?: boolean;
}

type Options = Omit<KernelDirective, 'limit' | 'set'>;

/** A field of a group of the descriptor; one bit is a boolean. */
const field = <Group extends 'rsrc1' | 'rsrc2' | 'rsrc3' | 'properties'>(
  group: Group,
  name: keyof KernelDescriptor[Group] & string,
  bits: number,
  options: Options = {},
): KernelDirective => ({
  limit: 2 ** bits - 1,
  set: ({ descriptor }, value) => {
    Object.assign(descriptor[group], { [name]: bits === 1 ? value === 1 : value });
  },
  ...options,
});

/** An input in user SGPRs. */
const userSgprs = (
  name: keyof KernelDescriptor['properties'] & string,
  count: number,
  options: Options = {},
): KernelDirective => {
  const { limit, set } = field('properties', name, 1);
  return {
    limit,
    set: (kernel, value) => {
      set(kernel, value);
      kernel.userSgprs += value * count;
    },
    ...options,
  };
};

const number = (
  limit: number,
  set: (kernel: Kernel, value: number) => void,
  options: Options = {},
): KernelDirective => ({
  limit,
  set,
  ...options,
});

const UINT32 = 2 ** 32 - 1;
const GFX90A: Options = { families: ['gfx90a'] };
const GFX10_ON: Options = { families: ['gfx10', 'gfx11', 'gfx12'] };
const TO_GFX11: Options = { families: ['gfx9', 'gfx90a', 'gfx10', 'gfx11'] };

const KERNEL_DIRECTIVES: Readonly<Record<string, KernelDirective>> = {
  group_segment_fixed_size: number(UINT32, ({ descriptor }, value) => {
    descriptor.groupSegmentFixedSizeBytes = value;
  }),
  private_segment_fixed_size: number(UINT32, ({ descriptor }, value) => {
    descriptor.privateSegmentFixedSizeBytes = value;
  }),
  kernarg_size: number(UINT32, ({ descriptor }, value) => {
    descriptor.kernargSizeBytes = value;
  }),
  user_sgpr_count: number(31, (kernel, value) => {
    kernel.userSgprCount = value;
  }),
  user_sgpr_private_segment_buffer: userSgprs('enableSgprPrivateSegmentBuffer', 4, { architectedFlatScratch: false }),
  user_sgpr_dispatch_ptr: userSgprs('enableSgprDispatchPtr', 2),
  user_sgpr_queue_ptr: userSgprs('enableSgprQueuePtr', 2),
  user_sgpr_kernarg_segment_ptr: userSgprs('enableSgprKernargSegmentPtr', 2),
  user_sgpr_dispatch_id: userSgprs('enableSgprDispatchId', 2),
  user_sgpr_flat_scratch_init: userSgprs('enableSgprFlatScratchInit', 2, { architectedFlatScratch: false }),
  user_sgpr_private_segment_size: userSgprs('enableSgprPrivateSegmentSize', 1),
  user_sgpr_kernarg_preload_length: number(
    127,
    (kernel, value) => {
      kernel.descriptor.kernargPreload.lengthDwords = value;
      kernel.userSgprs += value;
    },
    GFX90A,
  ),
  user_sgpr_kernarg_preload_offset: number(
    511,
    ({ descriptor }, value) => {
      descriptor.kernargPreload.offsetDwords = value;
    },
    GFX90A,
  ),
  wavefront_size32: field('properties', 'enableWavefrontSize32', 1, GFX10_ON),
  uses_dynamic_stack: field('properties', 'usesDynamicStack', 1),
  system_sgpr_private_segment_wavefront_offset: field('rsrc2', 'enablePrivateSegment', 1, {
    architectedFlatScratch: false,
  }),
  enable_private_segment: field('rsrc2', 'enablePrivateSegment', 1, { architectedFlatScratch: true }),
  system_sgpr_workgroup_id_x: field('rsrc2', 'enableSgprWorkgroupIdX', 1),
  system_sgpr_workgroup_id_y: field('rsrc2', 'enableSgprWorkgroupIdY', 1),
  system_sgpr_workgroup_id_z: field('rsrc2', 'enableSgprWorkgroupIdZ', 1),
  system_sgpr_workgroup_info: field('rsrc2', 'enableSgprWorkgroupInfo', 1),
  system_vgpr_workitem_id: field('rsrc2', 'enableVgprWorkitemId', 2),
  next_free_vgpr: number(UINT32, (kernel, value) => {
    kernel.nextFreeVgpr = value;
  }),
  next_free_sgpr: number(UINT32, (kernel, value) => {
    kernel.nextFreeSgpr = value;
  }),
  accum_offset: number(
    256,
    (kernel, value) => {
      kernel.accumOffset = value;
    },
    GFX90A,
  ),
  reserve_vcc: number(1, (kernel, value) => {
    kernel.reserveVcc = value === 1;
  }),
  reserve_flat_scratch: number(
    1,
    (kernel, value) => {
      kernel.reserveFlatScratch = value === 1;
    },
    { architectedFlatScratch: false },
  ),
  reserve_xnack_mask: number(1, (kernel, value) => {
    kernel.reserveXnackMask = value === 1;
  }),
  float_round_mode_32: field('rsrc1', 'floatRoundMode32', 2),
  float_round_mode_16_64: field('rsrc1', 'floatRoundMode16And64', 2),
  float_denorm_mode_32: field('rsrc1', 'floatDenormMode32', 2),
  float_denorm_mode_16_64: field('rsrc1', 'floatDenormMode16And64', 2),
  dx10_clamp: field('rsrc1', 'enableDx10Clamp', 1, TO_GFX11),
  ieee_mode: field('rsrc1', 'enableIeeeMode', 1, TO_GFX11),
  fp16_overflow: field('rsrc1', 'fp16Overflow', 1),
  workgroup_processor_mode: field('rsrc1', 'wgpMode', 1, GFX10_ON),
  memory_ordered: field('rsrc1', 'memOrdered', 1, GFX10_ON),
  forward_progress: field('rsrc1', 'forwardProgress', 1, GFX10_ON),
  round_robin_scheduling: field('rsrc1', 'enableWorkgroupRoundRobin', 1, { families: ['gfx12'] }),
  tg_split: field('rsrc3', 'threadGroupSplit', 1, GFX90A),
  shared_vgpr_count: field('rsrc3', 'sharedVgprCount', 4, { families: ['gfx10', 'gfx11'] }),
  inst_pref_size: field('rsrc3', 'instructionPrefetchSize', 6, { families: ['gfx11', 'gfx12'] }),
  exception_fp_ieee_invalid_op: field('rsrc2', 'enableExceptionInvalidOperation', 1),
  exception_fp_denorm_src: field('rsrc2', 'enableExceptionDenormalSource', 1),
  exception_fp_ieee_div_zero: field('rsrc2', 'enableExceptionDivisionByZero', 1),
  exception_fp_ieee_overflow: field('rsrc2', 'enableExceptionOverflow', 1),
  exception_fp_ieee_underflow: field('rsrc2', 'enableExceptionUnderflow', 1),
  exception_fp_ieee_inexact: field('rsrc2', 'enableExceptionInexact', 1),
  exception_int_div_zero: field('rsrc2', 'enableExceptionIntegerDivisionByZero', 1),
};

function newKernel(target: AssemblyTarget): Kernel {
  const family = processorNamed(target.id.processor)!.family;
  const isGfx10On = FAMILIES.indexOf(family) >= FAMILIES.indexOf('gfx10');
  const descriptor = decodeKernelDescriptor(new Uint8Array(KERNEL_DESCRIPTOR_SIZE_BYTES), family);
  descriptor.rsrc1.floatDenormMode16And64 = 3;
  descriptor.rsrc2.enableSgprWorkgroupIdX = true;
  if (family !== 'gfx12') Object.assign(descriptor.rsrc1, { enableDx10Clamp: true, enableIeeeMode: true });
  if (family === 'gfx90a') descriptor.rsrc3.threadGroupSplit = target.threadGroupSplit;
  if (isGfx10On) {
    Object.assign(descriptor.rsrc1, { wgpMode: !target.cuMode, memOrdered: true });
    descriptor.properties.enableWavefrontSize32 = target.context.waveSize === 32;
  }
  return {
    descriptor,
    target,
    seen: new Set(),
    userSgprs: 0,
    userSgprCount: undefined,
    nextFreeVgpr: 0,
    nextFreeSgpr: 0,
    accumOffset: 0,
    reserveVcc: true,
    reserveFlatScratch: true,
    reserveXnackMask: target.id.xnack === 'on' || target.id.xnack === 'any',
  };
}

const blocks = (count: number, granule: number): number => alignUp(Math.max(count, 1), granule) / granule - 1;

function sgprBlocks(kernel: Kernel): number {
  const { family } = kernel.descriptor;
  if (family !== 'gfx9' && family !== 'gfx90a') return 0;
  const { target, reserveVcc, reserveFlatScratch, reserveXnackMask } = kernel;
  return blocks(kernel.nextFreeSgpr + extraSgprs(target, reserveVcc, reserveFlatScratch, reserveXnackMask), 8);
}

function vgprGranule({ family, properties }: KernelDescriptor): number {
  if (family === 'gfx90a') return 8;
  if (family === 'gfx9') return 4;
  return properties.enableWavefrontSize32 ? 8 : 4;
}

function fail(what: string): never {
  throw new WavewrightError('BAD_INPUT', what);
}

/** Fills in what follows from the directives together. */
function finish(kernel: Kernel): Uint8Array {
  const { descriptor, seen } = kernel;
  for (const name of ['next_free_vgpr', 'next_free_sgpr']) if (!seen.has(name)) fail(`.amdhsa_${name} is required`);
  const userSgprCount = kernel.userSgprCount ?? kernel.userSgprs;
  if (userSgprCount < kernel.userSgprs) fail('.amdhsa_user_sgpr_count is smaller than implied by enabled user SGPRs');
  if (userSgprCount > 31) fail('too many user SGPRs enabled');
  descriptor.rsrc2.userSgprCount = userSgprCount;
  const vgprBlocks = blocks(kernel.nextFreeVgpr, vgprGranule(descriptor));
  if (vgprBlocks > 63) fail('.amdhsa_next_free_vgpr is too large');
  descriptor.rsrc1.granulatedWorkitemVgprCount = vgprBlocks;
  const scalarBlocks = sgprBlocks(kernel);
  if (scalarBlocks > 15) fail('.amdhsa_next_free_sgpr is too large');
  descriptor.rsrc1.granulatedWavefrontSgprCount = scalarBlocks;
  if (descriptor.family === 'gfx90a') {
    if (!seen.has('accum_offset')) fail('.amdhsa_accum_offset is required');
    const { accumOffset } = kernel;
    if (accumOffset < 4 || accumOffset % 4 !== 0) fail('.amdhsa_accum_offset must be 4 to 256 in steps of 4');
    if (accumOffset > alignUp(Math.max(kernel.nextFreeVgpr, 1), 4)) fail('.amdhsa_accum_offset is above the VGPRs');
    descriptor.rsrc3.accumOffset = accumOffset / 4 - 1;
  }
  return encodeKernelDescriptor(descriptor);
}

/** Collects the directives of one kernel, and puts its descriptor into the current section. */
export class KernelBlock {
  readonly #assembly: Assembly;
  readonly #name: string;
  readonly #kernel: Kernel;
  /** Values that are not known yet. */
  readonly #open: LateStep[] = [];
  /** Where it begins. */
  readonly line: AssemblyLine;

  constructor(assembly: Assembly, name: string) {
    this.#assembly = assembly;
    this.#name = name;
    this.line = assembly.line;
    this.#kernel = newKernel(assembly.target);
  }

  /** `.amdhsa_NAME VALUE`; what the value is may follow in the file. */
  set(directive: string, reader: TextReader): void {
    const name = directive.replace(/^\.amdhsa_/, '');
    const found = KERNEL_DIRECTIVES[name];
    if (!found || !directive.startsWith('.amdhsa_')) fail(`unknown .amdhsa_kernel directive '${directive}'`);
    const { descriptor, seen, target } = this.#kernel;
    const { families, architectedFlatScratch } = found;
    if (families && !families.includes(descriptor.family)) fail(`${directive} is not for ${target.id.processor}`);
    const hasArchitected = target.context.target.flatScratch === 'architected';
    if (architectedFlatScratch !== undefined && architectedFlatScratch !== hasArchitected) {
      fail(`${directive} is not for a target ${hasArchitected ? 'with' : 'without'} architected flat scratch`);
    }
    if (seen.has(name)) fail(`${directive} appears twice`);
    seen.add(name);
    const { symbols, line } = this.#assembly;
    const expression = this.#assembly.localize(reader.expression());
    const apply = (): void => {
      const { constant: value, plus, minus } = symbols.evaluate(expression);
      if (plus || minus) fail(`the value of ${directive} is not a number`);
      if (value < 0n || value > BigInt(found.limit)) fail(`${directive} is ${value}, expected 0 to ${found.limit}`);
      found.set(this.#kernel, Number(value));
    };
    if (symbols.isOpen(expression)) this.#open.push({ line, apply });
    else apply();
  }

  /**
   * `.end_amdhsa_kernel`: the descriptor, and its symbol with the binding and the visibility of the kernel.
   */
  end(): void {
    const { symbols, current, line } = this.#assembly;
    const code = symbols.get(this.#name);
    const descriptor = symbols.get(`${this.#name}.kd`);
    descriptor.binding = code.binding ?? (code.definition ? 'local' : 'global');
    descriptor.visibility = code.visibility;
    descriptor.type = 1;
    descriptor.size = { kind: 'number', value: BigInt(KERNEL_DESCRIPTOR_SIZE_BYTES) };
    // The distance to the code must not change when a shared object is linked.
    if (code.visibility === 0) code.visibility = 3;
    this.#assembly.defineLabel(descriptor.name);
    const offset = current.sizeBytes + ENTRY_OFFSET;
    const start = current.sizeBytes;
    this.#assembly.append(new Uint8Array(KERNEL_DESCRIPTOR_SIZE_BYTES));
    const fill = (): void => current.patchBytes(start, finish(this.#kernel));
    if (this.#open.length === 0) fill();
    else this.#assembly.atEnd.push(...this.#open, { line, apply: fill });
    current.fixups.push({
      offset,
      kind: 8,
      expression: {
        kind: 'binary',
        operator: '+',
        left: { kind: 'symbol', name: this.#name, variant: 'rel64' },
        right: { kind: 'number', value: BigInt(ENTRY_OFFSET) },
      },
      line: this.#assembly.line,
    });
  }
}

/** Where the descriptor has the distance from itself to the code. */
const ENTRY_OFFSET = 16;
