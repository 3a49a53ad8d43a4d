/** Which of several images runs on a device. */
import { WavewrightError } from '../base/errors.ts';
import { ptxHead } from '../ptx/text/recognize.ts';
import type { NvptxImage } from './images.ts';

export interface PickedImage {
  readonly name: string;
  readonly kind: 'ptx' | 'cubin';
  readonly bytes: Uint8Array;
  /** As its `.target` names it: `sm_90a`. */
  readonly processor: string;
}

/** `sm_90a`: number 90, and a letter where it runs on that processor (`a`) or its family (`f`) alone. */
function architecture(processor: string | undefined): { readonly number: number; readonly suffix: string } {
  const [, digits = '0', suffix = ''] = /^sm_(\d+)([a-z]?)$/.exec(processor ?? '') ?? [];
  return { number: Number(digits), suffix };
}

/**
 * Whether PTX for one processor runs on another (PTX ISA, `.target`): on all later ones, `a` on no other,
 * `f` on later ones of its family.
 */
export function runsOn(target: string, device: string): boolean {
  const [wanted, has] = [architecture(target).number, architecture(device).number];
  const { suffix } = architecture(target);
  if (suffix === 'a') return wanted === has;
  if (suffix === 'f') return wanted <= has && Math.floor(wanted / 10) === Math.floor(has / 10);
  return wanted <= has;
}

/**
 * PTX for a device, one of each unit: the highest architecture that runs there. Throws UNSUPPORTED where
 * there is none, with what to build instead.
 */
export function pickPtx(images: readonly NvptxImage[], device: string): PickedImage[] {
  const units = [...Map.groupBy(images, ({ unit }) => unit).values()];
  // A unit of bitcode or cubins alone matters only where nothing else is there.
  const withPtx = units.filter((unit) => unit.some(({ kind }) => kind === 'ptx'));
  if (withPtx.length === 0) throw noPtx(images);
  return withPtx.map((unit) => findPtx(unit, device) ?? refusePtx(unit, device));
}

/** Of one kind, the highest architecture first. */
const byArchitecture = (unit: readonly NvptxImage[], kind: NvptxImage['kind']): NvptxImage[] =>
  unit
    .filter((image) => image.kind === kind)
    .toSorted((a, b) => architecture(b.processor).number - architecture(a.processor).number);

function findPtx(unit: readonly NvptxImage[], device: string): PickedImage | undefined {
  for (const image of byArchitecture(unit, 'ptx')) {
    if (image.processor !== undefined && !runsOn(image.processor, device)) continue;
    const bytes = image.expand();
    const { processor = '' } = ptxHead(bytes);
    if (runsOn(processor, device)) return { name: image.name, kind: 'ptx', bytes, processor };
  }
  return undefined;
}

function refusePtx(unit: readonly NvptxImage[], device: string): never {
  const texts = unit.filter(({ kind }) => kind === 'ptx');
  const found = [...new Set(texts.map(({ processor }) => processor ?? 'no processor'))].join(', ');
  throw new WavewrightError('UNSUPPORTED', `its PTX is for ${found}, the device is ${device}`, {
    file: unit[0]!.name.replace(/\[.*/, ''),
    hint: `choose a later device, as --device=ptx:sm_90, or build for it: -march=${device} (clang), -arch=compute_${device.slice(3)} (nvcc)`,
  });
}

/**
 * Whether machine code for one processor runs on another (CUDA C++ programming guide, "Binary
 * compatibility"): on those of its generation from itself on.
 */
function isBinaryFor(target: string, device: string): boolean {
  const [wanted, has] = [architecture(target), architecture(device)];
  if (wanted.suffix === 'a') return wanted.number === has.number;
  return Math.floor(wanted.number / 10) === Math.floor(has.number / 10) && wanted.number <= has.number;
}

/**
 * What a real GPU runs, one of each unit: machine code of its own where there is some, else PTX, which its
 * driver compiles. `deviceName` is for errors. Throws UNSUPPORTED where there is neither.
 */
export function pickForGpu(images: readonly NvptxImage[], device: string, deviceName: string): PickedImage[] {
  const units = [...Map.groupBy(images, ({ unit }) => unit).values()];
  const withCode = units.filter((unit) => unit.some(({ kind }) => kind !== 'bitcode'));
  if (withCode.length === 0) throw noPtx(images);
  return withCode.map((unit) => {
    const cubin = byArchitecture(unit, 'cubin').find(({ processor = '' }) => isBinaryFor(processor, device));
    if (cubin) {
      const { name, processor = '' } = cubin;
      return { name, kind: 'cubin', bytes: cubin.expand(), processor };
    }
    return findPtx(unit, device) ?? refuseForGpu(unit, device, deviceName);
  });
}

function refuseForGpu(unit: readonly NvptxImage[], device: string, deviceName: string): never {
  const found = (kind: NvptxImage['kind']) =>
    [...new Set(byArchitecture(unit, kind).map(({ processor }) => processor ?? 'no processor'))].join(', ');
  const [cubins, texts] = [found('cubin'), found('ptx')];
  const parts = [
    ...(cubins === '' ? [] : [`machine code for ${cubins}`]),
    ...(texts === '' ? [] : [`PTX for ${texts}`]),
  ];
  throw new WavewrightError('UNSUPPORTED', `it has ${parts.join(' and ')}; ${deviceName} is ${device}`, {
    file: unit[0]!.name.replace(/\[.*/, ''),
    hint: `build for it: -march=${device} (clang), -arch=${device} (nvcc), or PTX for ${device} or earlier`,
  });
}

/** `why`: what else the error says. */
export function noPtx(images: readonly NvptxImage[], why = ''): WavewrightError {
  const { name, kind } = images[0]!;
  const file = name.replace(/\[.*/, '');
  if (kind === 'bitcode') {
    return new WavewrightError('UNSUPPORTED', 'LLVM bitcode, no PTX', {
      file,
      hint: 'make PTX of it: llc-19 -march=nvptx64 -mcpu=sm_70 -mattr=+ptx63 --nvptx-lower-global-ctor-dtor FILE.bc -o FILE.ptx, or link with clang-nvlink-wrapper --lto-emit-asm',
    });
  }
  const processors = [...new Set(images.map(({ processor }) => processor))].join(', ');
  return new WavewrightError('UNSUPPORTED', `machine code for NVIDIA GPUs alone (${processors}), no PTX${why}`, {
    file,
    hint: 'build PTX: clang-19 --target=nvptx64-nvidia-cuda -march=sm_70 -nogpulib -S, or nvcc -arch=compute_75 (or with -gencode arch=compute_75,code=compute_75 beside others)',
  });
}
