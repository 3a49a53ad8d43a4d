/** Code that the driver loads: PTX, which it compiles, and cubins; several are linked first. */
import { WavewrightError } from '../../base/errors.ts';
import type { DriverImage, DriverKernel, DriverModule } from '../../device/driver.ts';
import { guestAddress } from '../../device/guest-address.ts';
import type { CudaContext } from './context.ts';
import { NOT_FOUND, SUCCESS } from './results.ts';

/** CUjit_option: buffers of the compiler's messages and their sizes, which are given as values. */
const JIT_OPTIONS = { infoLog: 3, infoLogSize: 4, errorLog: 5, errorLogSize: 6 };
const LOG_BYTES = 16_384;
/** CUjitInputType. */
const INPUT_TYPES = { cubin: 0, ptx: 1 } as const;
/** CUfunction_attribute. */
const ATTRIBUTE = { maxThreads: 0, sharedSizeBytes: 1, localSizeBytes: 3, registers: 4 } as const;

/** A kernel of a module, for its launches. */
export interface LoadedKernel extends DriverKernel {
  readonly name: string;
  readonly parametersSizeBytes: number;
}

export class CudaModule implements DriverModule {
  readonly #context: CudaContext;
  readonly #handle: bigint;
  readonly #file: string;
  /** All kernels of the device's modules, by what launches name. */
  readonly #kernels: Map<bigint, LoadedKernel>;
  readonly #own: bigint[] = [];
  #isLoaded = true;

  constructor(context: CudaContext, images: readonly DriverImage[], kernels: Map<bigint, LoadedKernel>) {
    context.expectUsable();
    this.#context = context;
    this.#kernels = kernels;
    this.#file = images[0]!.name;
    this.#handle = images.length === 1 ? loadImage(context, images[0]!) : linkImages(context, images);
  }

  kernel(name: string, parametersSizeBytes: number): DriverKernel {
    const { library } = this.#context;
    this.#context.expectUsable();
    const out = new BigUint64Array(1);
    const result = library.call.cuModuleGetFunction(new Uint8Array(out.buffer), this.#handle, name);
    if (result === NOT_FOUND) {
      throw new WavewrightError('BAD_INPUT', `the driver finds no kernel '${name}'`, { file: this.#file });
    }
    this.#context.check(result, `kernel '${name}'`);
    const handle = out[0]!;
    const ask = (id: number) =>
      library.number((value) => library.call.cuFuncGetAttribute(value, id, handle), 'cuFuncGetAttribute');
    const kernel = {
      ...{ name, parametersSizeBytes, entry: guestAddress(handle) },
      registerCount: ask(ATTRIBUTE.registers),
      sharedSizeBytes: ask(ATTRIBUTE.sharedSizeBytes),
      privateSizeBytes: ask(ATTRIBUTE.localSizeBytes),
      maxWorkgroupSize: ask(ATTRIBUTE.maxThreads),
    };
    this.#kernels.set(handle, kernel);
    this.#own.push(handle);
    return kernel;
  }

  variable(name: string): { readonly address: bigint; readonly sizeBytes: number } | undefined {
    const { call } = this.#context.library;
    this.#context.expectUsable();
    const out = new BigUint64Array(2);
    const [address, size] = [new Uint8Array(out.buffer, 0, 8), new Uint8Array(out.buffer, 8, 8)];
    const result = call.cuModuleGetGlobal_v2(address, size, this.#handle, name);
    if (result === NOT_FOUND) return undefined;
    this.#context.check(result, `variable '${name}'`);
    return { address: out[0]!, sizeBytes: Number(out[1]!) };
  }

  [Symbol.dispose](): void {
    if (!this.#isLoaded) return;
    this.#isLoaded = false;
    for (const handle of this.#own) this.#kernels.delete(handle);
    if (!this.#context.isUsable) return;
    this.#context.enter();
    this.#context.check(this.#context.library.call.cuModuleUnload(this.#handle), 'cuModuleUnload');
  }
}

/** PTX ends with a NUL. */
function terminated({ kind, bytes }: DriverImage): Uint8Array {
  if (kind !== 'ptx' || bytes.at(-1) === 0) return bytes;
  const text = new Uint8Array(bytes.length + 1);
  text.set(bytes);
  return text;
}

/** What the compiler and the linker write about the code. */
class JitLog {
  readonly #error = new Uint8Array(LOG_BYTES);
  readonly #info = new Uint8Array(LOG_BYTES);
  readonly options = new Uint8Array(Int32Array.from(Object.values(JIT_OPTIONS)).buffer);
  readonly values: Uint8Array;
  readonly count = Object.keys(JIT_OPTIONS).length;

  constructor({ library: { ffi } }: CudaContext) {
    const size = BigInt(LOG_BYTES);
    const values = [ffi.getRawPointer(this.#info), size, ffi.getRawPointer(this.#error), size];
    this.values = new Uint8Array(BigUint64Array.from(values).buffer);
  }

  /** What it says of an error. */
  get text(): string {
    const [error, info] = [this.#error, this.#info].map((log) =>
      new TextDecoder().decode(log.subarray(0, Math.max(0, log.indexOf(0)))).trim(),
    );
    return error !== '' ? error! : info!;
  }
}

function failed(context: CudaContext, result: number, image: DriverImage, log: JitLog): WavewrightError {
  const what = image.kind === 'ptx' ? 'the driver compiles the PTX' : 'the driver loads the cubin';
  const { code, what: said, context: place } = context.library.error(result, what, log.text);
  return new WavewrightError(code, said, { ...place, file: image.name });
}

function loadImage(context: CudaContext, image: DriverImage): bigint {
  const { call, ffi } = context.library;
  const log = new JitLog(context);
  const bytes = terminated(image);
  const out = new BigUint64Array(1);
  const module = new Uint8Array(out.buffer);
  const result = call.cuModuleLoadDataEx(module, ffi.getRawPointer(bytes), log.count, log.options, log.values);
  if (result !== SUCCESS) throw failed(context, result, image, log);
  return out[0]!;
}

function linkImages(context: CudaContext, images: readonly DriverImage[]): bigint {
  const { library } = context;
  const { call } = library;
  const log = new JitLog(context);
  const state = library.word((out) => call.cuLinkCreate_v2(log.count, log.options, log.values, out), 'cuLinkCreate_v2');
  try {
    for (const image of images) {
      const bytes = terminated(image);
      const type = INPUT_TYPES[image.kind];
      const size = BigInt(bytes.length);
      const result = call.cuLinkAddData_v2(state, type, bytes, size, image.name, 0, 0n, 0n);
      if (result !== SUCCESS) throw failed(context, result, image, log);
    }
    const out = new BigUint64Array(2);
    const [cubin, sizeBytes] = [new Uint8Array(out.buffer, 0, 8), new Uint8Array(out.buffer, 8, 8)];
    library.check(call.cuLinkComplete(state, cubin, sizeBytes), 'the driver links the modules', log.text);
    // The cubin is the linker's until it is destroyed.
    const module = new BigUint64Array(1);
    const loadLog = new JitLog(context);
    const result = call.cuModuleLoadDataEx(
      ...([new Uint8Array(module.buffer), out[0]!, loadLog.count, loadLog.options, loadLog.values] as const),
    );
    library.check(result, 'the driver loads what it linked', loadLog.text);
    return module[0]!;
  } finally {
    call.cuLinkDestroy(state);
  }
}
