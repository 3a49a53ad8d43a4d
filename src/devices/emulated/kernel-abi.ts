/**
 * The first half of the ABI of AMDGPU kernels: descriptor and `KernelLaunch` become an `AmdgpuLaunch`, which
 * says what the initial registers hold (LLVM AMDGPU usage, "Initial Kernel Execution State"). The other half
 * is `amdgpu/initial-registers.ts`, which knows no code objects: it writes what the `AmdgpuLaunch` says into
 * the state of each wave. Arguments in memory are no part of this: `src/launch` lays them out.
 */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { type InitialSgprs, type InitialValue, initialSgprs } from '../../codeobject/initial-sgprs.ts';
import {
  decodeKernelDescriptor,
  KERNEL_DESCRIPTOR_SIZE_BYTES,
  type KernelDescriptor,
  vectorRegisterCount,
  wavefrontSize,
} from '../../codeobject/kernel-descriptor.ts';
import { type ProcessorFamily, processorNamed } from '../../codeobject/processors.ts';
import type { Device } from '../../device/device.ts';
import { guestAddress } from '../../device/guest-address.ts';
import type { KernelLaunch, LaunchOrigin } from '../../device/launch.ts';
import type { GuestMemory } from '../../device/memory.ts';
import { FIRST_TTMP } from '../../isa/amdgpu/encoding/registers.ts';
import { checkLaunchSizes } from '../../launch/launch-sizes.ts';
import type { AmdgpuEmulator } from './amdgpu/emulator.ts';
import type { AmdgpuLaunch } from './amdgpu/initial-registers.ts';

/** An instruction has at least a dword, and so much of the code must be readable. */
const MIN_CODE_BYTES = 4;
const MAX_GRID_SIZE = 2 ** 32 - 1;
/** Registers of an emulated wave; hardware has up to 512 unified, 256 of each kind. */
const VGPR_LIMIT = 256;
const MAX_CACHED_DESCRIPTORS = 4096;
const NO_ORIGIN: LaunchOrigin = { queueAddress: 0n, packetAddress: 0n, index: 0n };

/** What a descriptor says, of which launches of its kernel are made. */
interface DecodedDescriptor {
  readonly bytes: Uint8Array;
  readonly descriptor: KernelDescriptor;
  readonly places: SgprPlaces;
  /** The part of launches that is always the same. */
  readonly fixed: FixedLaunch;
}

type FixedLaunch = Omit<
  AmdgpuLaunch,
  'userSgprs' | 'entry' | 'workgroupSize' | 'gridSize' | 'ldsSizeBytes' | 'privateSizeBytes'
>;

/** Descriptors as they were decoded last, by address, with the bytes that they were decoded from. */
export class DescriptorCache {
  readonly #target: AmdgpuEmulator['target'];
  readonly #family: ProcessorFamily;
  readonly #known = new Map<bigint, DecodedDescriptor>();

  constructor({ target }: AmdgpuEmulator) {
    this.#target = target;
    this.#family = processorNamed(target.processor)!.family;
  }

  /**
   * `bytes`: those at `address` now; the host may have changed them. Throws BAD_INPUT and UNSUPPORTED for
   * what no launch can have.
   */
  decode(address: bigint, bytes: Uint8Array): DecodedDescriptor {
    const known = this.#known.get(address);
    if (known && isSame(known.bytes, bytes)) return known;
    const copy = Uint8Array.from(bytes);
    const descriptor = decodeKernelDescriptor(copy, this.#family);
    const places = sgprPlaces(this.#target, initialSgprs(descriptor, this.#target));
    const decoded = { bytes: copy, descriptor, places, fixed: fixedLaunch(this.#target, descriptor, places) };
    if (this.#known.size >= MAX_CACHED_DESCRIPTORS) this.#known.clear();
    this.#known.set(address, decoded);
    return decoded;
  }
}

function refuse(what: string): never {
  throw new WavewrightError('BAD_INPUT', what, { section: 'kernel descriptor' });
}

function fixedLaunch(
  target: AmdgpuEmulator['target'],
  descriptor: KernelDescriptor,
  { layout }: SgprPlaces,
): FixedLaunch {
  const waveSize = wavefrontSize(descriptor);
  if (!target.waveSizes.includes(waveSize)) {
    refuse(`waves of ${waveSize} lanes, which ${target.processor} does not have`);
  }
  const vectorRegisters = vectorRegisterCount(descriptor);
  const accumulatorStart = target.unifiedVgprs ? ((descriptor.rsrc3.accumOffset ?? 0) + 1) * 4 : vectorRegisters;
  const ownAccumulators = target.hasAccumulators && !target.unifiedVgprs ? vectorRegisters : 0;
  return {
    ...layout,
    waveSize,
    workItemIdComponents: Math.min(descriptor.rsrc2.enableVgprWorkitemId, 2) as 0 | 1 | 2,
    mode: modeOf(target, descriptor),
    vgprCount: Math.min(vectorRegisters, accumulatorStart, VGPR_LIMIT),
    agprCount: Math.max(0, Math.min(vectorRegisters - accumulatorStart + ownAccumulators, VGPR_LIMIT)),
  };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** The part of the device that `launchOf` looks at. */
export type LaunchDevice = Pick<Device, 'name' | 'properties'> & { readonly memory: GuestMemory };

/** Throws BAD_INPUT, UNSUPPORTED, LIMIT_EXCEEDED and USAGE for what cannot be launched. */
export function launchOf(
  emulator: AmdgpuEmulator,
  device: LaunchDevice,
  launch: KernelLaunch,
  descriptors = new DescriptorCache(emulator),
): AmdgpuLaunch {
  checkExtents(device, launch);
  const { memory } = device;
  const kernelObject = launch.entry;
  const bytes =
    memory.guestView(kernelObject, KERNEL_DESCRIPTOR_SIZE_BYTES, 'read') ??
    refuse(`${hex(kernelObject)} is not in memory that the GPU may read`);
  const { descriptor, places, fixed } = descriptors.decode(kernelObject, bytes);
  const entryAddress = guestAddress(BigInt.asUintN(64, kernelObject + descriptor.kernelCodeEntryByteOffset));
  const entry = emulator.memory.offset(entryAddress);
  // Hosts may write code into any memory and dispatch it: it need not be published.
  const code = entry === undefined ? undefined : emulator.memory.code(entry);
  if (entry === undefined || code === undefined || entry + MIN_CODE_BYTES > code.offset + code.sizeBytes) {
    return refuse(`the kernel's entry ${hex(entryAddress)} is not in memory that the GPU may read`);
  }
  // Launchers checked what they ask for; the descriptor may ask for more, and code may have written it.
  const ldsSizeBytes = Math.max(launch.resources.groupSizeBytes, descriptor.groupSegmentFixedSizeBytes);
  const privateSizeBytes = Math.max(launch.resources.privateSizeBytes, descriptor.privateSegmentFixedSizeBytes);
  checkLaunchSizes(device, undefined, {
    groupSegmentSizeBytes: ldsSizeBytes,
    privateSegmentSizeBytes: privateSizeBytes,
  });
  const { workgroupSize, gridSize } = launch;
  return {
    ...fixed,
    userSgprs: userSgprs(places, launch),
    ...{ entry, workgroupSize, gridSize, ldsSizeBytes, privateSizeBytes },
  };
}

const isSize = (size: number): boolean => Number.isInteger(size) && size >= 1 && size <= MAX_GRID_SIZE;

/** Throws USAGE for a grid that the emulator could not count or a workgroup that it could not place. */
function checkExtents({ name, properties }: LaunchDevice, { workgroupSize, gridSize }: KernelLaunch): void {
  let areWhole = true;
  let [workItems, groups] = [1, 1];
  for (let d = 0; d < 3; d++) {
    const [size, gridItems] = [workgroupSize[d]!, gridSize[d]!];
    areWhole &&= isSize(size) && isSize(gridItems);
    workItems *= size;
    groups *= Math.ceil(gridItems / size);
  }
  if (areWhole && workItems <= properties.maxWorkgroupSize && Number.isSafeInteger(groups)) return;
  const what = `a grid of ${gridSize.join(' x ')} work-items in workgroups of ${workgroupSize.join(' x ')}`;
  throw new WavewrightError(
    'USAGE',
    `${what}, ${name} takes workgroups of ${properties.maxWorkgroupSize} and grids of 2^53 workgroups`,
  );
}

/**
 * gfx12 has the workgroup's position in trap registers, whatever the descriptor asks for (LLVM AMDGPU usage,
 * "SGPR Register Set Up Order").
 */
const TRAP_REGISTER_IDS = {
  workgroupIdSgprs: [FIRST_TTMP + 9, undefined, undefined],
  packedWorkgroupIdSgpr: FIRST_TTMP + 7,
} as const;

type SgprLayout = Pick<
  AmdgpuLaunch,
  | 'userSgprs'
  | 'scratchDescriptorSgpr'
  | 'flatScratchSgpr'
  | 'workgroupIdSgprs'
  | 'packedWorkgroupIdSgpr'
  | 'scratchOffsetSgpr'
>;

/** What does not change from launch to launch of a kernel. */
interface SgprPlaces {
  readonly layout: Omit<SgprLayout, 'userSgprs'>;
  readonly userCount: number;
  /** First registers of values that launches have; undefined where the kernel asks for none. */
  readonly dispatchPtr: number | undefined;
  readonly queuePtr: number | undefined;
  readonly kernargSegmentPtr: number | undefined;
  readonly dispatchId: number | undefined;
  readonly privateSegmentSize: number | undefined;
}

function sgprPlaces(target: AmdgpuEmulator['target'], { values, userCount }: InitialSgprs): SgprPlaces {
  const registerOf = (value: InitialValue): number | undefined => values.get(value)?.first;
  const ids = [registerOf('workgroupIdX'), registerOf('workgroupIdY'), registerOf('workgroupIdZ')] as const;
  return {
    layout: {
      scratchDescriptorSgpr: registerOf('privateSegmentBuffer'),
      flatScratchSgpr: registerOf('flatScratchInit'),
      // The register of the workgroup's info has its place, and stays 0.
      ...(target.workgroupIdsInTrapRegisters ? TRAP_REGISTER_IDS : { workgroupIdSgprs: ids }),
      scratchOffsetSgpr: registerOf('scratchWaveOffset'),
    },
    userCount,
    dispatchPtr: registerOf('dispatchPtr'),
    queuePtr: registerOf('queuePtr'),
    kernargSegmentPtr: registerOf('kernargSegmentPtr'),
    dispatchId: registerOf('dispatchId'),
    privateSegmentSize: registerOf('privateSegmentSize'),
  };
}

/** Preloaded arguments stay 0: the emulator enters where the kernel's own prologue loads them. */
function userSgprs(
  places: SgprPlaces,
  { argumentsAddress, resources, origin = NO_ORIGIN }: KernelLaunch,
): AmdgpuLaunch['userSgprs'] {
  const registers = new Uint32Array(places.userCount);
  put64(registers, places.dispatchPtr, origin.packetAddress);
  put64(registers, places.queuePtr, origin.queueAddress);
  put64(registers, places.kernargSegmentPtr, argumentsAddress);
  put64(registers, places.dispatchId, origin.index);
  if (places.privateSegmentSize !== undefined) registers[places.privateSegmentSize] = resources.privateSizeBytes;
  return registers;
}

function put64(registers: Uint32Array, first: number | undefined, value: bigint): void {
  if (first === undefined) return;
  registers[first] = Number(value & 0xffffffffn);
  registers[first + 1] = Number(value >> 32n);
}

/**
 * MODE as the packet processor sets it from the descriptor (CDNA2 ISA 3.5, RDNA3 ISA 3.3.2). Throws
 * UNSUPPORTED for FP16_OVFL.
 */
function modeOf({ clampsNan }: AmdgpuEmulator['target'], { rsrc1 }: KernelDescriptor): number {
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
    (rsrc1.enableDx10Clamp || clampsNan ? 0x100 : 0) |
    (rsrc1.enableIeeeMode ? 0x200 : 0)
  );
}
