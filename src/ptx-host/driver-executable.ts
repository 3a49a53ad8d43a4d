/**
 * PTX and cubins that the driver of a real GPU loads: the files say what is in them, the driver where it is.
 */
import { WavewrightError } from '../base/errors.ts';
import type { DeviceDriver, DriverImage, DriverModule } from '../device/driver.ts';
import type { Dispatch } from '../device/launch.ts';
import { parseElf } from '../elf/elf.ts';
import { cubinKernels, cubinVariables } from '../nvptx/cubin.ts';
import { kernelParameters } from '../ptx/compile/function.ts';
import { parseSource } from '../ptx/text/parser.ts';
import { PtxSource } from '../ptx/text/source.ts';
import type { NvptxCode, NvptxExecutable, NvptxLoadOptions, PtxKernel, PtxSymbol, PtxText } from './executable.ts';
import { kernelMetadata, type PlacedParameter } from './kernel-metadata.ts';

/** What a file says of a kernel. */
interface NamedKernel {
  readonly name: string;
  /** Undefined where they are not listed one by one. */
  readonly parameters: readonly PlacedParameter[] | undefined;
  readonly parametersSizeBytes: number;
}

interface Contents {
  readonly kernels: readonly NamedKernel[];
  readonly variables: readonly string[];
}

export class DriverExecutable implements NvptxExecutable {
  readonly kernels: readonly PtxKernel[];
  readonly names: readonly string[];
  readonly sizeBytes: number;
  readonly #driver: DeviceDriver;
  readonly #module: DriverModule;

  /**
   * Throws BAD_INPUT for what the driver does not take, UNSUPPORTED for a function whose address is wanted:
   * CUDA tells those of variables alone.
   */
  constructor(driver: DeviceDriver, { texts, cubins = [] }: NvptxCode, { wanted = [] }: NvptxLoadOptions = {}) {
    if (wanted.length > 0) {
      throw new WavewrightError('UNSUPPORTED', `fn:${wanted[0]}: CUDA does not tell the addresses of functions`);
    }
    const contents = [...texts.map(textContents), ...cubins.map(cubinContents)];
    const images: DriverImage[] = [
      ...texts.map(({ text, name }) => ({ kind: 'ptx', name, bytes: new TextEncoder().encode(text) }) as const),
      ...cubins.map((cubin) => ({ kind: 'cubin', ...cubin }) as const),
    ];
    this.#driver = driver;
    this.names = contents.flatMap(({ variables }) => variables);
    this.sizeBytes = images.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#module = driver.load(images);
    try {
      this.kernels = contents.flatMap(({ kernels }) => kernels.map((kernel) => kernelOf(this.#module, kernel)));
    } catch (error) {
      this.#module[Symbol.dispose]();
      throw error;
    }
  }

  symbol(name: string): PtxSymbol | undefined {
    return this.names.includes(name) ? this.#module.variable(name) : undefined;
  }

  addressOf(name: string): bigint {
    const symbol = this.symbol(name);
    if (symbol !== undefined) return symbol.address;
    throw new WavewrightError('USAGE', `there is no variable '${name}'`);
  }

  /** The driver knows which addresses there are. */
  read(address: bigint, sizeBytes: number): Uint8Array {
    return this.#driver.memory.read(address, sizeBytes);
  }

  write(address: bigint, bytes: Uint8Array): boolean {
    this.#driver.memory.write(address, bytes);
    return true;
  }

  // What kernels print and allocate is the driver's.
  serve(): number {
    return 0;
  }
  resetServices(): void {}
  printTo(): void {}

  /** A GPU says what happened, and not where. */
  errorOf({ error, fault }: Dispatch, { name }: Pick<PtxKernel, 'name'>): WavewrightError | undefined {
    if (error || !fault) return error;
    return new WavewrightError('GPU_FAULT', `${fault.message}; kernel ${name}`, {
      section: `kernel '${name}'`,
      hint: 'a GPU does not say where: --device=ptx:sm_70 (to sm_90) runs the PTX and reports line and thread',
    });
  }

  sourceText(): undefined {
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#module[Symbol.dispose]();
  }
}

function textContents({ text, name }: PtxText): Contents {
  const source = new PtxSource(text, name);
  const { items } = parseSource(source);
  const kernels = new Map<string, NamedKernel>();
  const variables: string[] = [];
  for (const item of items) {
    if (item.kind === 'variable' && item.linkage !== '.extern' && item.linkage !== undefined) variables.push(item.name);
    if (item.kind !== 'function' || !item.isEntry || !item.body) continue;
    const { parameters, end } = kernelParameters(source, item.parameters);
    const named = parameters.map(({ variable, offset, sizeBytes }) => ({
      ...{ name: variable.name, type: variable.type.slice(1), offset, sizeBytes },
      isPointer: variable.pointer !== undefined,
    }));
    kernels.set(item.name, { name: item.name, parameters: named, parametersSizeBytes: end });
  }
  return { kernels: [...kernels.values()], variables };
}

function cubinContents({ bytes, name }: Omit<DriverImage, 'kind'>): Contents {
  const elf = parseElf(bytes, name);
  return { kernels: cubinKernels(elf), variables: cubinVariables(elf) };
}

function kernelOf(module: DriverModule, { name, parameters, parametersSizeBytes }: NamedKernel): PtxKernel {
  const { entry, registerCount, sharedSizeBytes, privateSizeBytes, maxWorkgroupSize } = module.kernel(
    name,
    parametersSizeBytes,
  );
  const sizes = { parametersSizeBytes, sharedSizeBytes, privateSizeBytes };
  return {
    ...{ name, entry, registerCount, kernargSegmentSizeBytes: parametersSizeBytes },
    ...{ groupSegmentSizeBytes: sharedSizeBytes, privateSegmentSizeBytes: privateSizeBytes },
    // The driver does not say whether a kernel calls what it does not know.
    dynamicCallstack: true,
    metadata: parameters && kernelMetadata({ name, parameters, ...sizes, requiredSize: undefined, maxWorkgroupSize }),
  };
}
