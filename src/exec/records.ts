/**
 * Attributes as the bytes that C programs read: what the runtime answers, laid out as the specification's
 * types say (HSA runtime 1.2, hsa_ext_amd.h).
 */
import {
  AGENT_INFO,
  AGENT_MEMORY_POOL_INFO,
  CACHE_INFO,
  HsaError,
  ISA_INFO,
  MEMORY_POOL_INFO,
  REGION_INFO,
  SYMBOL_INFO,
  SYSTEM_INFO,
} from '../hsa/index.ts';
import { RECORD_HEAD_BYTES } from './protocol.ts';

/**
 * How a value is laid out; lists have one after the other. `text`: characters without a NUL behind them,
 * `textN`: with NULs up to N bytes. `handle`: an object that has one. `link` and `counters`: structures.
 */
type Layout = 'bool' | 'u16' | 'u32' | 'u64' | 'text' | 'text21' | 'text64' | 'bytes' | 'handle' | 'link' | 'counters';

type Layouts<Names extends Readonly<Record<string, number>>> = Readonly<Partial<Record<keyof Names, Layout>>>;

const AGENT: Layouts<typeof AGENT_INFO> = {
  ...{ name: 'text64', vendorName: 'text64', feature: 'u32', machineModel: 'u32', profile: 'u32' },
  ...{ defaultFloatRoundingMode: 'u32', wavefrontSize: 'u32', workgroupMaxDim: 'u16', workgroupMaxSize: 'u32' },
  ...{ gridMaxDim: 'u32', gridMaxSize: 'u32', fbarrierMaxSize: 'u32', queuesMax: 'u32', queueMinSize: 'u32' },
  ...{ queueMaxSize: 'u32', queueType: 'u32', node: 'u32', device: 'u32', cacheSize: 'u32', isa: 'handle' },
  ...{ extensions: 'bytes', versionMajor: 'u16', versionMinor: 'u16', baseProfileDefaultFloatRoundingModes: 'u32' },
  ...{ fastF16Operation: 'bool', chipId: 'u32', cachelineSize: 'u32', computeUnitCount: 'u32' },
  ...{ maxClockFrequency: 'u32', driverNodeId: 'u32', maxAddressWatchPoints: 'u32', bdfId: 'u32' },
  ...{ memoryWidth: 'u32', memoryMaxFrequency: 'u32', productName: 'text64', maxWavesPerCu: 'u32' },
  ...{ simdsPerCu: 'u32', shaderEngines: 'u32', shaderArraysPerSe: 'u32', hdpFlush: 'u64', domain: 'u32' },
  ...{ cooperativeQueues: 'bool', uuid: 'text21', asicRevision: 'u32', svmDirectHostAccess: 'bool' },
  ...{ cooperativeComputeUnitCount: 'u32', memoryAvailable: 'u64', timestampFrequency: 'u64', asicFamilyId: 'u32' },
  ...{ ucodeVersion: 'u32', sdmaUcodeVersion: 'u32', sdmaEngines: 'u32', sdmaXgmiEngines: 'u32' },
  ...{ iommuSupport: 'u32', xccCount: 'u32', driverUid: 'u32', nearestCpu: 'handle', memoryProperties: 'bytes' },
  ...{ aqlExtensions: 'bytes', scratchLimitMax: 'u64', scratchLimitCurrent: 'u64', clockCounters: 'counters' },
};

const SYSTEM: Layouts<typeof SYSTEM_INFO> = {
  ...{ versionMajor: 'u16', versionMinor: 'u16', timestampFrequency: 'u64', signalMaxWait: 'u64', endianness: 'u32' },
  ...{ machineModel: 'u32', extensions: 'bytes', svmSupported: 'bool', svmAccessibleByDefault: 'bool' },
  ...{ mwaitxEnabled: 'bool', dmabufSupported: 'bool', virtualMemApiSupported: 'bool', xnackEnabled: 'bool' },
  ...{ extVersionMajor: 'u16', extVersionMinor: 'u16' },
};

const ISA: Layouts<typeof ISA_INFO> = {
  ...{ nameLength: 'u32', name: 'text', callConventionCount: 'u32', callConventionWavefrontSize: 'u32' },
  ...{ machineModels: 'bool', profiles: 'bool', defaultFloatRoundingModes: 'bool' },
  ...{ baseProfileDefaultFloatRoundingModes: 'bool', fastF16Operation: 'bool', workgroupMaxDim: 'u16' },
  ...{ workgroupMaxSize: 'u32', gridMaxDim: 'u32', gridMaxSize: 'u64', fbarrierMaxSize: 'u32' },
};

const POOL: Layouts<typeof MEMORY_POOL_INFO> = {
  ...{ segment: 'u32', globalFlags: 'u32', size: 'u64', runtimeAllocAllowed: 'bool', runtimeAllocGranule: 'u64' },
  ...{ runtimeAllocAlignment: 'u64', accessibleByAll: 'bool', allocMaxSize: 'u64', location: 'u32' },
  ...{ runtimeAllocRecommendedGranule: 'u64' },
};

const REGION: Layouts<typeof REGION_INFO> = {
  ...{ segment: 'u32', globalFlags: 'u32', size: 'u64', allocMaxSize: 'u64', runtimeAllocAllowed: 'bool' },
  ...{ runtimeAllocGranule: 'u64', runtimeAllocAlignment: 'u64', allocMaxPrivateWorkgroupSize: 'u32' },
  ...{ hostAccessible: 'bool', base: 'u64', busWidth: 'u32', maxClockFrequency: 'u32' },
};

const SYMBOL: Layouts<typeof SYMBOL_INFO> = {
  ...{ kind: 'u32', nameLength: 'u32', name: 'text', moduleNameLength: 'u32', moduleName: 'text', linkage: 'u32' },
  ...{ variableAllocation: 'u32', variableSegment: 'u32', variableAlignment: 'u32', variableSize: 'u32' },
  ...{ variableIsConst: 'bool', kernelKernargSegmentSize: 'u32', kernelKernargSegmentAlignment: 'u32' },
  ...{ kernelGroupSegmentSize: 'u32', kernelPrivateSegmentSize: 'u32', kernelDynamicCallstack: 'bool' },
  ...{ indirectFunctionCallConvention: 'u32', isDefinition: 'bool', kernelCallConvention: 'u32' },
  ...{ kernelWavefrontSize: 'u32', agent: 'handle', variableAddress: 'u64', kernelObject: 'u64' },
  ...{ indirectFunctionObject: 'u64', size: 'u64', alignment: 'u64' },
};

const byNumber = <Names extends Readonly<Record<string, number>>>(names: Names, layouts: Layouts<Names>) =>
  new Map(Object.entries(layouts).map(([name, layout]) => [names[name]!, layout as Layout]));

/** Layouts by the attributes' numbers. What is missing here no program can ask for. */
export const ATTRIBUTE_LAYOUTS = {
  agent: byNumber(AGENT_INFO, AGENT),
  system: byNumber(SYSTEM_INFO, SYSTEM),
  isa: byNumber(ISA_INFO, ISA),
  pool: byNumber(MEMORY_POOL_INFO, POOL),
  region: byNumber(REGION_INFO, REGION),
  pair: byNumber(AGENT_MEMORY_POOL_INFO, { access: 'u32', linkHops: 'u32', linkInfo: 'link' }),
  cache: byNumber(CACHE_INFO, { nameLength: 'u32', name: 'text', level: 'u32', size: 'u32' }),
  symbol: byNumber(SYMBOL_INFO, SYMBOL),
} as const;

export type HandleOf = (object: unknown) => bigint;

/** hsa_amd_memory_pool_link_info_t, whose flags are at 16, 17 and 18. */
const LINK_BYTES = 28;

function numbers(sizeBytes: 1 | 2 | 4 | 8, values: readonly (number | bigint | boolean)[]): Uint8Array {
  const bytes = new Uint8Array(sizeBytes * values.length);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) {
    const word = BigInt(value);
    if (sizeBytes === 8) view.setBigUint64(i * 8, word, true);
    else if (sizeBytes === 4) view.setUint32(i * 4, Number(word), true);
    else if (sizeBytes === 2) view.setUint16(i * 2, Number(word), true);
    else view.setUint8(i, Number(word));
  }
  return bytes;
}

interface Link extends Readonly<Record<string, number | boolean>> {}

function link(found: Link): Uint8Array {
  const { minLatency, maxLatency, minBandwidth, maxBandwidth, type, numaDistance } = found;
  const bytes = new Uint8Array(LINK_BYTES);
  bytes.set(numbers(4, [minLatency!, maxLatency!, minBandwidth!, maxBandwidth!]));
  bytes.set(numbers(1, [found['atomicSupport32']!, found['atomicSupport64']!, found['coherentSupport']!]), 16);
  bytes.set(numbers(4, [type!, numaDistance!]), 20);
  return bytes;
}

function text(value: string, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  // The last byte is a NUL.
  new TextEncoder().encodeInto(value, bytes.subarray(0, sizeBytes - 1));
  return bytes;
}

const BYTES = { bool: 1, u16: 2, u32: 4, u64: 8 } as const;

/** The bytes of an answer. */
export function encodeValue(layout: Layout, value: unknown, handleOf: HandleOf): Uint8Array {
  const list = Array.isArray(value) ? value : [value];
  switch (layout) {
    case 'text':
      return new TextEncoder().encode(value as string);
    case 'text21':
    case 'text64':
      return text(value as string, Number(layout.slice(4)));
    case 'bytes':
      return value as Uint8Array;
    case 'handle':
      return numbers(8, list.map(handleOf));
    case 'link':
      return Buffer.concat(list.map(link));
    case 'counters':
      return numbers(8, Object.values(value as Readonly<Record<string, bigint>>));
    default:
      return numbers(BYTES[layout], list);
  }
}

interface StoredRecord {
  readonly subject: number;
  readonly attribute: number;
  readonly bytes: Uint8Array;
}

/** Collects what is known, and makes the tail of a reply of it. */
export class Records {
  readonly #records: StoredRecord[] = [];

  add(subject: number, attribute: number, bytes: Uint8Array): void {
    this.#records.push({ subject, attribute, bytes });
  }

  addHandles(subject: number, list: number, handles: readonly bigint[]): void {
    this.add(subject, list, numbers(8, handles));
  }

  /** All that `ask` has an answer to. */
  addAnswers(
    subject: number,
    layouts: ReadonlyMap<number, Layout>,
    ask: (attribute: number) => unknown,
    handleOf: HandleOf,
    firstAttribute = 0,
  ): void {
    for (const [attribute, layout] of layouts) {
      try {
        this.add(subject, firstAttribute + attribute, encodeValue(layout, ask(attribute), handleOf));
      } catch (error) {
        // The subject has no such attribute, and the program is told so when it asks.
        if (!(error instanceof HsaError && error.status === 'INVALID_ARGUMENT')) throw error;
      }
    }
  }

  encode(): Uint8Array {
    this.#records.sort((a, b) => a.subject - b.subject || a.attribute - b.attribute);
    const parts = this.#records.flatMap(({ subject, attribute, bytes }) => [
      numbers(8, [subject, attribute, bytes.length]),
      bytes,
      new Uint8Array(-bytes.length & 7),
    ]);
    return Buffer.concat(parts);
  }
}

export const RECORD_WORDS = RECORD_HEAD_BYTES / 8;
