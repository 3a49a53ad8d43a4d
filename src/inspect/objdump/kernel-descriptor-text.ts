/**
 * Kernel descriptors as the assembler directives that make them, in the order and the words of llvm-objdump
 * 19.
 */
import {
  decodeKernelDescriptor,
  KERNEL_DESCRIPTOR_SIZE_BYTES,
  type KernelDescriptor,
  vectorRegisterCount,
} from '../../codeobject/kernel-descriptor.ts';
import type { ProcessorFamily } from '../../codeobject/processors.ts';

/** What of the target shows in the text. */
export interface DescriptorTarget {
  readonly family: ProcessorFamily;
  readonly architectedFlatScratch: boolean;
  readonly codeObjectVersion: number;
}

/** Bits that must be 0, counted from the start of the descriptor. */
interface ReservedBits {
  readonly high: number;
  readonly low: number;
  /**
   * The word that LLVM names with bits counted in it; without, they count from the start of the descriptor.
   */
  readonly word?: { readonly name: string; readonly firstBit: number };
  readonly why?: string;
  readonly families?: readonly ProcessorFamily[];
  /** In place of which bits they are. */
  readonly text?: string;
}

const GFX9: readonly ProcessorFamily[] = ['gfx9', 'gfx90a'];
const GFX10_PLUS: readonly ProcessorFamily[] = ['gfx10', 'gfx11'];
const WORD_BITS = { RSRC3: 352, RSRC1: 384, RSRC2: 416 };

/** `name`: RSRC1, or RSRC1_FIELD as LLVM spells it. */
function reserved(
  name: string,
  high: number,
  low: number,
  why?: string,
  families?: readonly ProcessorFamily[],
): ReservedBits {
  const firstBit = WORD_BITS[name.slice(0, 5) as keyof typeof WORD_BITS];
  const word = { name: `COMPUTE_PGM_${name}`, firstBit };
  return { high: firstBit + high, low: firstBit + low, word, ...(why && { why }), ...(families && { families }) };
}

/** In the order in which LLVM looks at them; the first that is not 0 is what it reports. */
const RESERVED: readonly ReservedBits[] = [
  { high: 127, low: 96 },
  { high: 351, low: 192 },
  { ...reserved('RSRC3', 31, 0, undefined, ['gfx9']), text: 'COMPUTE_PGM_RSRC3 must be all zero before gfx9' },
  reserved('RSRC3', 15, 6, 'must be zero on gfx90a', ['gfx90a']),
  reserved('RSRC3', 31, 17, 'must be zero on gfx90a', ['gfx90a']),
  reserved('RSRC3', 11, 4, 'must be zero on gfx10', ['gfx10']),
  reserved('RSRC3', 12, 12, 'must be zero on gfx10+', GFX10_PLUS),
  reserved('RSRC3', 13, 13, 'must be zero on gfx10 or gfx11', GFX10_PLUS),
  reserved('RSRC3', 30, 14, 'must be zero on gfx10+', GFX10_PLUS),
  reserved('RSRC3', 31, 31, 'must be zero on gfx10', ['gfx10']),
  reserved('RSRC1_GRANULATED_WAVEFRONT_SGPR_COUNT', 9, 6, 'must be zero on gfx10+', GFX10_PLUS),
  reserved('RSRC1_PRIORITY', 11, 10),
  reserved('RSRC1_PRIV', 20, 20),
  reserved('RSRC1_DEBUG_MODE', 22, 22),
  reserved('RSRC1_BULKY', 24, 24),
  reserved('RSRC1_CDBG_USER', 25, 25),
  reserved('RSRC1', 28, 27),
  reserved('RSRC1', 31, 29, 'must be zero pre-gfx10', GFX9),
  reserved('RSRC2_ENABLE_EXCEPTION_ADDRESS_WATCH', 13, 13),
  reserved('RSRC2_ENABLE_EXCEPTION_MEMORY', 14, 14),
  reserved('RSRC2_GRANULATED_LDS_SIZE', 23, 15),
  reserved('RSRC2', 31, 31),
  { high: 457, low: 455 },
  { high: 458, low: 458, why: 'must be zero on gfx9', families: GFX9 },
  { high: 463, low: 460 },
  { high: 511, low: 480 },
];

function isZero(bytes: Uint8Array, { high, low }: ReservedBits): boolean {
  for (let bit = low; bit <= high; bit++) if ((bytes[bit >> 3]! >> (bit & 7)) & 1) return false;
  return true;
}

function complaint({ high, low, word, why, text }: ReservedBits): string {
  if (text !== undefined) return `kernel descriptor ${text}`;
  const first = word?.firstBit ?? 0;
  const bits = high === low ? `bit (${low - first})` : `bits in range (${high - first}:${low - first})`;
  return `kernel descriptor ${word ? `${word.name} ` : ''}reserved ${bits} set${why ? `, ${why}` : ''}`;
}

type Line = readonly [directive: string, value: number | boolean];
const comment = (name: string, value: number | boolean | undefined): Line => [`; ${name}`, value ?? 0];

function resource3Lines({ rsrc3, properties, family }: KernelDescriptor): Line[] {
  if (family === 'gfx90a') {
    return [
      ['accum_offset', (rsrc3.accumOffset! + 1) * 4],
      ['tg_split', rsrc3.threadGroupSplit!],
    ];
  }
  if (family !== 'gfx10' && family !== 'gfx11') return [];
  const sharedVgprs = rsrc3.sharedVgprCount!;
  const first: Line = properties.enableWavefrontSize32
    ? comment('SHARED_VGPR_COUNT', sharedVgprs)
    : ['shared_vgpr_count', sharedVgprs];
  if (family === 'gfx10') return [first];
  return [
    first,
    comment('INST_PREF_SIZE', rsrc3.instructionPrefetchSize),
    comment('TRAP_ON_START', rsrc3.trapOnStart),
    comment('TRAP_ON_END', rsrc3.trapOnEnd),
    comment('IMAGE_OP', rsrc3.imageOp),
  ];
}

function resource1Lines(descriptor: KernelDescriptor, target: DescriptorTarget): Line[] {
  const { rsrc1 } = descriptor;
  return [
    ['next_free_vgpr', vectorRegisterCount(descriptor)],
    // The counts do not tell what the assembler added for these: they are shown as not reserved.
    ['reserve_vcc', 0],
    ...(target.architectedFlatScratch ? [] : [['reserve_flat_scratch', 0] as const]),
    ['reserve_xnack_mask', 0],
    ['next_free_sgpr', (rsrc1.granulatedWavefrontSgprCount + 1) * 8],
    ['float_round_mode_32', rsrc1.floatRoundMode32],
    ['float_round_mode_16_64', rsrc1.floatRoundMode16And64],
    ['float_denorm_mode_32', rsrc1.floatDenormMode32],
    ['float_denorm_mode_16_64', rsrc1.floatDenormMode16And64],
    ['dx10_clamp', rsrc1.enableDx10Clamp!],
    ['ieee_mode', rsrc1.enableIeeeMode!],
    ['fp16_overflow', rsrc1.fp16Overflow!],
    ...(GFX10_PLUS.includes(target.family)
      ? ([
          ['workgroup_processor_mode', rsrc1.wgpMode!],
          ['memory_ordered', rsrc1.memOrdered!],
          ['forward_progress', rsrc1.forwardProgress!],
        ] as const)
      : []),
  ];
}

function resource2Lines({ rsrc2 }: KernelDescriptor, { architectedFlatScratch }: DescriptorTarget): Line[] {
  return [
    [
      architectedFlatScratch ? 'enable_private_segment' : 'system_sgpr_private_segment_wavefront_offset',
      rsrc2.enablePrivateSegment,
    ],
    ['system_sgpr_workgroup_id_x', rsrc2.enableSgprWorkgroupIdX],
    ['system_sgpr_workgroup_id_y', rsrc2.enableSgprWorkgroupIdY],
    ['system_sgpr_workgroup_id_z', rsrc2.enableSgprWorkgroupIdZ],
    ['system_sgpr_workgroup_info', rsrc2.enableSgprWorkgroupInfo],
    ['system_vgpr_workitem_id', rsrc2.enableVgprWorkitemId],
    ['exception_fp_ieee_invalid_op', rsrc2.enableExceptionInvalidOperation],
    ['exception_fp_denorm_src', rsrc2.enableExceptionDenormalSource],
    ['exception_fp_ieee_div_zero', rsrc2.enableExceptionDivisionByZero],
    ['exception_fp_ieee_overflow', rsrc2.enableExceptionOverflow],
    ['exception_fp_ieee_underflow', rsrc2.enableExceptionUnderflow],
    ['exception_fp_ieee_inexact', rsrc2.enableExceptionInexact],
    ['exception_int_div_zero', rsrc2.enableExceptionIntegerDivisionByZero],
  ];
}

function propertyLines({ properties, kernargPreload }: KernelDescriptor, target: DescriptorTarget): Line[] {
  const { architectedFlatScratch, codeObjectVersion, family } = target;
  const lines: (Line | false)[] = [
    !architectedFlatScratch && ['user_sgpr_private_segment_buffer', properties.enableSgprPrivateSegmentBuffer],
    ['user_sgpr_dispatch_ptr', properties.enableSgprDispatchPtr],
    ['user_sgpr_queue_ptr', properties.enableSgprQueuePtr],
    ['user_sgpr_kernarg_segment_ptr', properties.enableSgprKernargSegmentPtr],
    ['user_sgpr_dispatch_id', properties.enableSgprDispatchId],
    !architectedFlatScratch && ['user_sgpr_flat_scratch_init', properties.enableSgprFlatScratchInit],
    ['user_sgpr_private_segment_size', properties.enableSgprPrivateSegmentSize],
    GFX10_PLUS.includes(family) && ['wavefront_size32', properties.enableWavefrontSize32],
    codeObjectVersion >= 5 && ['uses_dynamic_stack', properties.usesDynamicStack],
    kernargPreload.lengthDwords > 0 && ['user_sgpr_kernarg_preload_length', kernargPreload.lengthDwords],
    kernargPreload.offsetDwords > 0 && ['user_sgpr_kernarg_preload_offset', kernargPreload.offsetDwords],
  ];
  return lines.filter((line) => line !== false);
}

/**
 * The descriptor of `kernel` as text that ends in a newline, or what is wrong with it. `bytes`: from its
 * symbol to the next one.
 */
export function kernelDescriptorText(
  kernel: string,
  bytes: Uint8Array,
  address: number,
  target: DescriptorTarget,
): { readonly text: string } | { readonly error: string } {
  if (bytes.length !== KERNEL_DESCRIPTOR_SIZE_BYTES || address % KERNEL_DESCRIPTOR_SIZE_BYTES !== 0) {
    return { error: 'kernel descriptor must be 64-byte aligned' };
  }
  const broken = RESERVED.find((bits) => (bits.families?.includes(target.family) ?? true) && !isZero(bytes, bits));
  if (broken) return { error: complaint(broken) };
  const descriptor = decodeKernelDescriptor(bytes, target.family);
  const lines: Line[] = [
    ['group_segment_fixed_size', descriptor.groupSegmentFixedSizeBytes],
    ['private_segment_fixed_size', descriptor.privateSegmentFixedSizeBytes],
    ['kernarg_size', descriptor.kernargSizeBytes],
    ...resource3Lines(descriptor),
    ...resource1Lines(descriptor, target),
    ...resource2Lines(descriptor, target),
    ...propertyLines(descriptor, target),
  ];
  const body = lines.map(([name, value]) => `\t${name.startsWith(';') ? '' : '.amdhsa_'}${name} ${Number(value)}\n`);
  return { text: `.amdhsa_kernel ${kernel}\n${body.join('')}.end_amdhsa_kernel\n` };
}
