import { WavewrightError } from '../base/errors.ts';
import {
  type ComputePgmRsrc1,
  type ComputePgmRsrc2,
  type ComputePgmRsrc3,
  type FieldRow,
  type KernelCodeProperties,
  PROPERTIES_ROWS,
  RSRC1_ROWS,
  RSRC2_ROWS,
  RSRC3_ROWS,
} from './descriptor-fields.ts';
import type { ProcessorFamily } from './processors.ts';

export const KERNEL_DESCRIPTOR_SIZE_BYTES = 64;

/**
 * The 64 bytes behind a kernel's `.kd` symbol (LLVM AMDGPU usage, "Kernel Descriptor"), code object version 3
 * and higher.
 */
export interface KernelDescriptor {
  /** Decides which fields the registers have. */
  family: ProcessorFamily;
  /** LDS of a workgroup without dynamically allocated LDS. */
  groupSegmentFixedSizeBytes: number;
  /** Scratch of a work-item; more is needed with a dynamic stack. */
  privateSegmentFixedSizeBytes: number;
  /** 0 when the kernel does not say. */
  kernargSizeBytes: number;
  /** From the address of the descriptor to the first instruction; signed, a multiple of 256. */
  kernelCodeEntryByteOffset: bigint;
  rsrc1: ComputePgmRsrc1;
  rsrc2: ComputePgmRsrc2;
  rsrc3: ComputePgmRsrc3;
  properties: KernelCodeProperties;
  /** Kernel arguments that the packet processor loads into user SGPRs (gfx90a family, gfx125x). */
  kernargPreload: { lengthDwords: number; offsetDwords: number };
  /** Bytes 12-15, 24-43 and 60-63: 28 bytes, zero by specification. */
  reserved: Uint8Array;
}

type Field = readonly [name: string, shift: number, width: number];
type Word = Record<string, number | boolean>;

const FAMILIES: readonly ProcessorFamily[] = [
  'gfx6',
  'gfx7',
  'gfx8',
  'gfx9',
  'gfx90a',
  'gfx10',
  'gfx11',
  'gfx12',
  'gfx125',
];

interface Layout {
  rsrc1: readonly Field[];
  rsrc2: readonly Field[];
  rsrc3: readonly Field[];
  properties: readonly Field[];
}

const layouts = new Map<ProcessorFamily, Layout>();

function layoutOf(family: ProcessorFamily): Layout {
  let layout = layouts.get(family);
  if (layout === undefined) {
    const own = FAMILIES.indexOf(family);
    if (own < 0)
      throw new WavewrightError('UNSUPPORTED', `the layout of kernel descriptors for ${family} is not known`);
    const select = <T>(rows: readonly FieldRow<T>[]): Field[] => {
      const fields: Field[] = [];
      for (const [name, shift, width, first = 'gfx6', last = 'gfx125'] of rows) {
        if (own >= FAMILIES.indexOf(first) && own <= FAMILIES.indexOf(last)) fields.push([name, shift, width]);
      }
      return fields;
    };
    layout = {
      rsrc1: select(RSRC1_ROWS),
      rsrc2: select(RSRC2_ROWS),
      rsrc3: select(RSRC3_ROWS),
      properties: select(PROPERTIES_ROWS),
    };
    layouts.set(family, layout);
  }
  return layout;
}

/** Decodes 64 bytes. Errors: `UNSUPPORTED` for a family whose layout is not public (gfx13). */
export function decodeKernelDescriptor(bytes: Uint8Array, family: ProcessorFamily): KernelDescriptor {
  if (bytes.length !== KERNEL_DESCRIPTOR_SIZE_BYTES) {
    throw new WavewrightError(
      'BAD_INPUT',
      `a kernel descriptor has ${KERNEL_DESCRIPTOR_SIZE_BYTES} bytes, found ${bytes.length}`,
    );
  }
  const layout = layoutOf(family);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const preload = view.getUint16(58, true);
  const reserved = new Uint8Array(28);
  reserved.set(bytes.subarray(12, 16), 0);
  reserved.set(bytes.subarray(24, 44), 4);
  reserved.set(bytes.subarray(60, 64), 24);
  return {
    family,
    groupSegmentFixedSizeBytes: view.getUint32(0, true),
    privateSegmentFixedSizeBytes: view.getUint32(4, true),
    kernargSizeBytes: view.getUint32(8, true),
    kernelCodeEntryByteOffset: view.getBigInt64(16, true),
    rsrc1: decodeWord<ComputePgmRsrc1>(view.getUint32(48, true), layout.rsrc1),
    rsrc2: decodeWord<ComputePgmRsrc2>(view.getUint32(52, true), layout.rsrc2),
    rsrc3: decodeWord<ComputePgmRsrc3>(view.getUint32(44, true), layout.rsrc3),
    properties: decodeWord<KernelCodeProperties>(view.getUint16(56, true), layout.properties),
    kernargPreload: { lengthDwords: preload & 0x7f, offsetDwords: preload >>> 7 },
    reserved,
  };
}

/** The 64 bytes of a descriptor. Errors: `USAGE` when a field does not fit its bits. */
export function encodeKernelDescriptor(descriptor: KernelDescriptor): Uint8Array {
  const layout = layoutOf(descriptor.family);
  const bytes = new Uint8Array(KERNEL_DESCRIPTOR_SIZE_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, fit(descriptor.groupSegmentFixedSizeBytes, 32, 'groupSegmentFixedSizeBytes'), true);
  view.setUint32(4, fit(descriptor.privateSegmentFixedSizeBytes, 32, 'privateSegmentFixedSizeBytes'), true);
  view.setUint32(8, fit(descriptor.kernargSizeBytes, 32, 'kernargSizeBytes'), true);
  bytes.set(descriptor.reserved.subarray(0, 4), 12);
  view.setBigInt64(16, descriptor.kernelCodeEntryByteOffset, true);
  bytes.set(descriptor.reserved.subarray(4, 24), 24);
  view.setUint32(44, encodeWord(descriptor.rsrc3, layout.rsrc3), true);
  view.setUint32(48, encodeWord(descriptor.rsrc1, layout.rsrc1), true);
  view.setUint32(52, encodeWord(descriptor.rsrc2, layout.rsrc2), true);
  view.setUint16(56, encodeWord(descriptor.properties, layout.properties), true);
  const { lengthDwords, offsetDwords } = descriptor.kernargPreload;
  const preload =
    fit(lengthDwords, 7, 'kernargPreload.lengthDwords') | (fit(offsetDwords, 9, 'kernargPreload.offsetDwords') << 7);
  view.setUint16(58, preload, true);
  bytes.set(descriptor.reserved.subarray(24, 28), 60);
  return bytes;
}

/** The wave size that the descriptor asks for: 32 or 64. */
export function wavefrontSize(descriptor: KernelDescriptor): 32 | 64 {
  return descriptor.properties.enableWavefrontSize32 ? 32 : 64;
}

/**
 * How many vector registers the count in a descriptor stands for (LLVM AMDGPU usage, field
 * GRANULATED_WORKITEM_VGPR_COUNT).
 */
export function registerGranule({ family, properties }: KernelDescriptor): number {
  const wave32 = properties.enableWavefrontSize32;
  if (family === 'gfx90a') return 8;
  if (family === 'gfx125') return wave32 ? 16 : 8;
  return wave32 ? 8 : 4;
}

/**
 * Vector registers of each lane that the descriptor asks for; on the gfx90a family this counts the AccVGPRs,
 * which start at `accumOffset`.
 */
export function vectorRegisterCount(descriptor: KernelDescriptor): number {
  return (descriptor.rsrc1.granulatedWorkitemVgprCount + 1) * registerGranule(descriptor);
}

/** How many scalar registers the count in a descriptor stands for, up to gfx9. */
export const SGPR_ENCODING_GRANULE = 8;

/** Scalar registers of a wave that the descriptor asks for; from gfx10 every wave has 128. */
export function scalarRegisterCount(descriptor: KernelDescriptor): number {
  if (FAMILIES.indexOf(descriptor.family) >= FAMILIES.indexOf('gfx10')) return 128;
  return (descriptor.rsrc1.granulatedWavefrontSgprCount + 1) * SGPR_ENCODING_GRANULE;
}

/**
 * Hardware up to gfx9 allocates scalar registers 16 at a time (LLVM's AMDGPUUsage,
 * GRANULATED_WAVEFRONT_SGPR_COUNT).
 */
export const SGPR_ALLOCATION_GRANULE = 16;

function decodeWord<T extends { reserved: number }>(word: number, fields: readonly Field[]): T {
  const values: Word = {};
  let reserved = word;
  for (const [name, shift, width] of fields) {
    const mask = 2 ** width - 1;
    const value = (word >>> shift) & mask;
    values[name] = width === 1 ? value === 1 : value;
    reserved &= ~(mask << shift);
  }
  values['reserved'] = reserved >>> 0;
  // reason: the rows are typed by T's keys, and a test checks that every family has the required ones
  return values as unknown as T;
}

function encodeWord(values: object, fields: readonly Field[]): number {
  const read = values as Readonly<Word>;
  let word = Number(read['reserved']);
  for (const [name, shift, width] of fields) word |= fit(Number(read[name] ?? 0), width, name) << shift;
  return word >>> 0;
}

function fit(value: number, width: number, name: string): number {
  if (Number.isInteger(value) && value >= 0 && value < 2 ** width) return value;
  throw new WavewrightError('USAGE', `kernel descriptor: ${name} is ${value}, which does not fit ${width} bits`);
}
