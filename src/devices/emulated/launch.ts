/** Kernel descriptor and packet to a launch: which SGPRs hold what. LLVM AMDGPU usage, "Initial Kernel Execution State". */
import { WavewrightError } from '../../base/errors.ts';
import {
  decodeKernelDescriptor,
  KERNEL_DESCRIPTOR_SIZE_BYTES,
  type KernelDescriptor,
  vectorRegisterCount,
  wavefrontSize,
} from '../../codeobject/kernel-descriptor.ts';
import { type ProcessorFamily, processorNamed } from '../../codeobject/processors.ts';
import type { Emulator } from '../../emulator/emulator.ts';
import type { Launch } from '../../emulator/launch.ts';
import type { DeviceMemory, KernelDispatch } from '../../hsa/device.ts';

/** Registers of an emulated wave; hardware has up to 512 unified, 256 of each kind. */
const VGPR_LIMIT = 256;
const MAX_CACHED_DESCRIPTORS = 4096;

/** Descriptors as they were decoded last, by address, with the bytes that they were decoded from. */
export class DescriptorCache {
  readonly #family: ProcessorFamily;
  readonly #known = new Map<bigint, { readonly bytes: Uint8Array; readonly descriptor: KernelDescriptor }>();

  constructor({ target }: Emulator) {
    this.#family = processorNamed(target.processor)!.family;
  }

  /** `bytes`: those at `address` now; the host may have changed them. */
  decode(address: bigint, bytes: Uint8Array): KernelDescriptor {
    const known = this.#known.get(address);
    if (known && isSame(known.bytes, bytes)) return known.descriptor;
    const copy = Uint8Array.from(bytes);
    const descriptor = decodeKernelDescriptor(copy, this.#family);
    if (this.#known.size >= MAX_CACHED_DESCRIPTORS) this.#known.clear();
    this.#known.set(address, { bytes: copy, descriptor });
    return descriptor;
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function launchOf(
  emulator: Emulator,
  memory: DeviceMemory,
  packet: KernelDispatch,
  descriptors = new DescriptorCache(emulator),
): Launch {
  const bytes = memory.view(packet.kernelObject, KERNEL_DESCRIPTOR_SIZE_BYTES);
  const { target } = emulator;
  const descriptor = descriptors.decode(packet.kernelObject, bytes);
  const entry = emulator.memory.offset(packet.kernelObject + descriptor.kernelCodeEntryByteOffset);
  if (entry === undefined || !emulator.memory.find(entry)) {
    throw new WavewrightError('BAD_INPUT', `kernel entry is outside device memory`, { section: 'kernel descriptor' });
  }
  const waveSize = wavefrontSize(descriptor);
  if (!target.waveSizes.includes(waveSize)) {
    throw new WavewrightError('BAD_INPUT', `waves of ${waveSize} lanes, which ${target.processor} does not have`, {
      section: 'kernel descriptor',
    });
  }
  const vectorRegisters = vectorRegisterCount(descriptor);
  const accumulatorStart = target.unifiedVgprs ? ((descriptor.rsrc3.accumOffset ?? 0) + 1) * 4 : vectorRegisters;
  return {
    ...sgprLayout(target, descriptor, packet),
    entry,
    waveSize,
    workgroupSize: packet.workgroupSize,
    gridSize: packet.gridSize,
    ldsSizeBytes: Math.max(packet.groupSegmentSizeBytes, descriptor.groupSegmentFixedSizeBytes),
    privateSizeBytes: Math.max(packet.privateSegmentSizeBytes, descriptor.privateSegmentFixedSizeBytes),
    workItemIdComponents: Math.min(descriptor.rsrc2.enableVgprWorkitemId, 2) as 0 | 1 | 2,
    mode: modeOf(target, descriptor),
    vgprCount: Math.min(vectorRegisters, accumulatorStart, VGPR_LIMIT),
    agprCount: Math.max(0, Math.min(vectorRegisters - accumulatorStart, VGPR_LIMIT)),
  };
}

type SgprLayout = Pick<
  Launch,
  'userSgprs' | 'scratchDescriptorSgpr' | 'flatScratchSgpr' | 'workgroupIdSgprs' | 'scratchOffsetSgpr'
>;

function sgprLayout(
  target: Emulator['target'],
  { properties, rsrc2 }: KernelDescriptor,
  packet: KernelDispatch,
): SgprLayout {
  const user: number[] = [];
  const push64 = (value: bigint): void => {
    user.push(Number(value & 0xffffffffn), Number(value >> 32n));
  };
  const reserve = (count: number): number => user.push(...new Array<number>(count).fill(0)) - count;
  const scratchDescriptorSgpr = properties.enableSgprPrivateSegmentBuffer ? reserve(4) : undefined;
  if (properties.enableSgprDispatchPtr) push64(packet.dispatchPacketAddress);
  if (properties.enableSgprQueuePtr) push64(packet.queueAddress);
  if (properties.enableSgprKernargSegmentPtr) push64(packet.kernargAddress);
  if (properties.enableSgprDispatchId) push64(packet.dispatchId);
  const flatScratchSgpr = properties.enableSgprFlatScratchInit ? reserve(2) : undefined;
  if (properties.enableSgprPrivateSegmentSize) user.push(packet.privateSegmentSizeBytes);
  // The count may be larger than what is enabled: preloaded kernel arguments, which the kernel's own prologue loads too.
  let next = Math.max(rsrc2.userSgprCount, user.length);
  const system = (enabled: boolean): number | undefined =>
    enabled && !target.workgroupIdsInTrapRegisters ? next++ : undefined;
  const workgroupIdSgprs = [
    system(rsrc2.enableSgprWorkgroupIdX),
    system(rsrc2.enableSgprWorkgroupIdY),
    system(rsrc2.enableSgprWorkgroupIdZ),
  ] as const;
  system(rsrc2.enableSgprWorkgroupInfo);
  // With architected flat scratch the bit asks for scratch memory, not for a register.
  const scratchOffsetSgpr = system(rsrc2.enablePrivateSegment && !target.architectedFlatScratch);
  return {
    userSgprs: Uint32Array.from(user),
    scratchDescriptorSgpr,
    flatScratchSgpr,
    workgroupIdSgprs,
    scratchOffsetSgpr,
  };
}

/** MODE as the packet processor sets it from the descriptor (CDNA2 ISA 3.6, RDNA3 ISA 3.3.2). Throws UNSUPPORTED for FP16_OVFL. */
function modeOf({ families }: Emulator['target'], { rsrc1 }: KernelDescriptor): number {
  if (rsrc1.fp16Overflow) {
    throw new WavewrightError('UNSUPPORTED', 'f16 results that are clamped instead of overflowing', {
      section: 'kernel descriptor',
    });
  }
  return (
    rsrc1.floatRoundMode32 |
    (rsrc1.floatRoundMode16And64 << 2) |
    (rsrc1.floatDenormMode32 << 4) |
    (rsrc1.floatDenormMode16And64 << 6) |
    // From gfx12 on there is no choice: NaN clamps to 0.
    (rsrc1.enableDx10Clamp || families.includes('gfx12') ? 0x100 : 0) |
    (rsrc1.enableIeeeMode ? 0x200 : 0)
  );
}
