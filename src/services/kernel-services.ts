/**
 * What a kernel needs of this host besides its arguments, found through its hidden ones: the buffer in which
 * it asks for services, the heap of device malloc, the buffer of what it prints, and what the workgroups of a
 * cooperative grid meet at.
 */
import { concatenate } from '../base/concatenate.ts';
import { WavewrightError } from '../base/errors.ts';
import type { HiddenArgumentValues } from '../codeobject/hidden-arguments.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import type { Runtime } from '../hsa/runtime/runtime.ts';
import { type HostcallLayout, hostcallLayout, initializeHostcallBuffer } from './hostcall/layout.ts';
import { initializePrintfBuffer, PRINTF_BUFFER_SIZE_BYTES, PrintfFormats } from './hostcall/printf-buffer.ts';
import { HostcallServer, type Print } from './hostcall/server.ts';
import { HEAP_STATE_SIZE_BYTES, KernelHeap } from './kernel-heap.ts';

export interface ServicesOptions {
  /** Work-items in 1 to 3 dimensions. */
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
  /** All workgroups run at the same time and may wait for each other. Default `false`. */
  readonly cooperative?: boolean | undefined;
  /** Default: one of its own, which is empty when a run begins. */
  readonly heap?: KernelHeap | undefined;
  /** Bytes that device malloc gives out together from a heap of its own. Default: what the device has. */
  readonly heapBytes?: number | undefined;
  /** Default: nobody sees what kernels print. */
  readonly onPrint?: Print | undefined;
}

/** The waves that every device can have resident at once, where LDS and registers allow. */
const MAX_COOPERATIVE_WAVES = 2048;
/**
 * What the workgroups of a cooperative grid meet at (`mg_info` of ROCm 5 and 6), for a grid that meets no
 * other one; offsets in bytes.
 */
const GRID_SYNC = { workgroupCount: 40, sizeBytes: 64 } as const;
/** What is printed goes on in pieces of about this size. */
const PRINT_CHUNK_BYTES = 65_536;

export class KernelServices implements Disposable {
  readonly hidden: Pick<HiddenArgumentValues, 'hostcallBuffer' | 'printfBuffer' | 'heapV1' | 'multigridSyncArg'>;
  /** Bytes of device memory that the services take, without what the kernel allocates. */
  memoryBytes = 0;
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  readonly #resources = new DisposableStack();
  readonly #heap: KernelHeap;
  readonly #isOwnHeap: boolean;
  readonly #output: Output;
  readonly #beforeRun: (() => void)[] = [];
  #server: HostcallServer | undefined;
  #printBuffered = () => {};

  /**
   * Throws BAD_INPUT for metadata of printf that is wrong, USAGE for a cooperative grid of too many waves,
   * LIMIT_EXCEEDED where there is not enough memory.
   */
  constructor(runtime: Runtime, agent: Agent, kernel: KernelSymbol, options: ServicesOptions) {
    this.#runtime = runtime;
    this.#agent = agent;
    this.#output = new Output(options.onPrint ?? (() => {}));
    const { workgroupCount, waveCount } = gridCounts(kernel, options);
    const isCooperative = options.cooperative ?? false;
    if (isCooperative && waveCount > MAX_COOPERATIVE_WAVES) {
      const what = `a cooperative grid of ${waveCount} waves, at most ${MAX_COOPERATIVE_WAVES} run at the same time`;
      throw new WavewrightError('USAGE', what);
    }
    this.#isOwnHeap = options.heap === undefined;
    this.#heap = options.heap ?? this.#resources.use(new KernelHeap(runtime, agent, options.heapBytes));
    const { args = [], kernargSegmentSizeBytes = 0 } = kernel.metadata ?? {};
    const takes = (valueKind: string) =>
      args.some((each) => each.valueKind === valueKind && each.offsetBytes + each.sizeBytes <= kernargSegmentSizeBytes);
    this.hidden = {
      ...(takes('hidden_hostcall_buffer') && {
        hostcallBuffer: this.#hostcallBuffer(hostcallLayout(waveCount)),
      }),
      ...(takes('hidden_heap_v1') && { heapV1: this.#heapState() }),
      ...(takes('hidden_printf_buffer') && { printfBuffer: this.#printfBuffer(kernel) }),
      ...(isCooperative && takes('hidden_multigrid_sync_arg') && { multigridSyncArg: this.#gridSync(workgroupCount) }),
    };
  }

  /** Everything as it was before the first run. */
  reset(): void {
    for (const prepare of this.#beforeRun) prepare();
  }

  /**
   * Serves what the kernel asks for now, until `deadline` (milliseconds of performance.now); how many
   * requests. Throws what `HostcallServer.poll` throws.
   */
  poll(deadline: number): number {
    try {
      return this.#server?.poll(deadline) ?? 0;
    } finally {
      this.#output.flush();
    }
  }

  /**
   * Prints what the kernel left to be printed when it ended, however it did. Throws RPC_PROTOCOL,
   * LIMIT_EXCEEDED.
   */
  finish(): void {
    try {
      this.#printBuffered();
    } finally {
      this.#output.flush();
    }
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }

  #hostcallBuffer(layout: HostcallLayout): bigint {
    const doorbell = this.#resources.use(this.#runtime.createSignal(0n, this.#agent));
    const { address, bytes } = this.#allocate(layout.sizeBytes, 'hostcall buffer');
    const server = new HostcallServer(layout, bytes, { heap: this.#heap.memory, print: this.#output.print });
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#beforeRun.push(() => {
      initializeHostcallBuffer(view, layout, address, doorbell.address);
      server.reset();
    });
    this.#server = server;
    return address;
  }

  #heapState(): bigint {
    const heap = this.#heap;
    const address = heap.stateAddress;
    this.memoryBytes += HEAP_STATE_SIZE_BYTES;
    // Where the state is a variable of the code object (before version 5), it lasts, and so do its
    // allocations.
    if (this.#isOwnHeap) this.#beforeRun.push(() => heap.clear());
    return address;
  }

  #printfBuffer(kernel: KernelSymbol): bigint {
    const formats = new PrintfFormats(kernel.codeObject.codeObject.metadata?.printf ?? []);
    const { address, bytes } = this.#allocate(PRINTF_BUFFER_SIZE_BYTES, 'printf buffer');
    this.#beforeRun.push(() => initializePrintfBuffer(bytes));
    this.#printBuffered = () => formats.print(bytes, this.#output.print);
    return address;
  }

  #gridSync(workgroupCount: number): bigint {
    const { address, bytes } = this.#allocate(GRID_SYNC.sizeBytes, 'what the workgroups of the grid meet at');
    this.#beforeRun.push(() => {
      bytes.fill(0);
      new DataView(bytes.buffer, bytes.byteOffset).setUint32(GRID_SYNC.workgroupCount, workgroupCount, true);
    });
    return address;
  }

  #allocate(sizeBytes: number, label: string): { address: bigint; bytes: Uint8Array<SharedArrayBuffer> } {
    const pool = this.#runtime.cpuAgent.pool('fine-grained', this.#agent);
    const address = pool.allocate(sizeBytes, { label });
    this.#resources.defer(() => pool.free(address));
    this.memoryBytes += sizeBytes;
    return { address, bytes: this.#runtime.view(address, sizeBytes) };
  }
}

/** Work-items that do not fill a workgroup or a wave count as one that is full. */
function gridCounts({ wavefrontSize }: KernelSymbol, { grid, workgroup }: ServicesOptions) {
  const sizes = [0, 1, 2].map((i) => ({ items: grid[i] ?? 1, group: workgroup[i] ?? 1 }));
  const workgroupCount = sizes.reduce((product, { items, group }) => product * Math.ceil(items / group), 1);
  const groupSize = sizes.reduce((product, { group }) => product * group, 1);
  return { workgroupCount, waveCount: workgroupCount * Math.ceil(groupSize / wavefrontSize) };
}

/** Joins what lanes print. */
class Output {
  readonly #target: Print;
  #stream: 'stdout' | 'stderr' = 'stdout';
  #chunks: Uint8Array[] = [];
  #sizeBytes = 0;

  constructor(target: Print) {
    this.#target = target;
  }

  readonly print: Print = (stream, text) => {
    if (stream !== this.#stream || this.#sizeBytes >= PRINT_CHUNK_BYTES) this.flush();
    this.#stream = stream;
    this.#chunks.push(text);
    this.#sizeBytes += text.length;
  };

  flush(): void {
    const chunks = this.#chunks;
    if (this.#sizeBytes > 0) this.#target(this.#stream, concatenate(chunks));
    this.#chunks = [];
    this.#sizeBytes = 0;
  }
}
