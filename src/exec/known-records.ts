/** What an application is told of system, agents and pools when it begins, and of an executable's symbols. */
import { hex } from '../base/text.ts';
import {
  Agent,
  agentInfo,
  agentMemoryPoolInfo,
  cacheInfo,
  type Executable,
  HsaError,
  isaInfo,
  MemoryPool,
  memoryPoolInfo,
  type Runtime,
  regionInfo,
  SYSTEM_INFO,
  symbolInfo,
} from '../hsa/index.ts';
import { LISTS, pairSubject, REGION_ATTRIBUTES, SUBJECTS } from './protocol.ts';
import { ATTRIBUTE_LAYOUTS, type HandleOf, Records } from './records.ts';

/** The numbers that applications know objects of a runtime by. */
export class Handles {
  readonly #objects = new Map<bigint, unknown>();
  readonly #handles = new Map<unknown, bigint>();

  constructor(runtime: Runtime) {
    const { agents } = runtime;
    this.#number(SUBJECTS.agent, agents);
    this.#number(
      SUBJECTS.isa,
      agents.flatMap(({ isas }) => isas),
    );
    this.#number(
      SUBJECTS.pool,
      agents.flatMap(({ pools }) => pools),
    );
    this.#number(
      SUBJECTS.cache,
      agents.flatMap(({ caches }) => caches),
    );
  }

  #number(first: number, objects: readonly unknown[]): void {
    for (const [i, object] of objects.entries()) {
      this.#objects.set(BigInt(first + i), object);
      this.#handles.set(object, BigInt(first + i));
    }
  }

  readonly of: HandleOf = (object) => this.#handles.get(object) ?? 0n;

  /** Throws INVALID_AGENT. */
  agent(handle: bigint): Agent {
    const found = this.object(handle);
    if (found instanceof Agent) return found;
    throw new HsaError('INVALID_AGENT', `no agent ${hex(handle)}`);
  }

  /** Throws INVALID_MEMORY_POOL. */
  pool(handle: bigint): MemoryPool {
    const found = this.object(handle);
    if (found instanceof MemoryPool) return found;
    throw new HsaError('INVALID_MEMORY_POOL', `no memory pool ${hex(handle)}`);
  }

  /** What has a handle; undefined for any other number. */
  object(handle: bigint): unknown {
    return this.#objects.get(handle);
  }
}

/** The tail of the reply to `hello`. */
export function knownRecords(runtime: Runtime, handles: Handles): Uint8Array {
  const records = new Records();
  const handleOf = handles.of;
  const subject = (object: unknown): number => Number(handleOf(object));
  records.addHandles(SUBJECTS.system, LISTS.agents, runtime.agents.map(handleOf));
  const systemInfo = (id: number) => (id === SYSTEM_INFO.virtualMemApiSupported ? true : runtime.systemInfo(id));
  records.addAnswers(SUBJECTS.system, ATTRIBUTE_LAYOUTS.system, systemInfo, handleOf);
  for (const agent of runtime.agents) {
    addAgent(records, agent, handles);
    for (const pool of runtime.agents.flatMap(({ pools }) => pools)) {
      const pair = pairSubject(subject(agent), subject(pool));
      records.addAnswers(pair, ATTRIBUTE_LAYOUTS.pair, (id) => agentMemoryPoolInfo(agent, pool, id), handleOf);
    }
  }
  return records.encode();
}

function addAgent(records: Records, agent: Agent, { of: handleOf }: Handles): void {
  const subject = (object: unknown): number => Number(handleOf(object));
  const own = subject(agent);
  records.addAnswers(own, ATTRIBUTE_LAYOUTS.agent, (id) => agentInfo(agent, id), handleOf);
  const lists = { isas: agent.isas, pools: agent.pools, regions: agent.regions, caches: agent.caches };
  for (const [name, objects] of Object.entries(lists)) {
    records.addHandles(own, LISTS[name as keyof typeof lists], objects.map(handleOf));
  }
  for (const isa of agent.isas) {
    records.addAnswers(subject(isa), ATTRIBUTE_LAYOUTS.isa, (id) => isaInfo(isa, id), handleOf);
    records.addHandles(subject(isa), LISTS.wavefronts, isa.wavefrontSizes.map(BigInt));
  }
  for (const cache of agent.caches) {
    records.addAnswers(subject(cache), ATTRIBUTE_LAYOUTS.cache, (id) => cacheInfo(cache, id), handleOf);
  }
  for (const pool of agent.pools) addPool(records, subject(pool), pool, handleOf);
}

function addPool(records: Records, own: number, pool: MemoryPool, handleOf: HandleOf): void {
  records.addAnswers(own, ATTRIBUTE_LAYOUTS.pool, (id) => memoryPoolInfo(pool, id), handleOf);
  records.addAnswers(own, ATTRIBUTE_LAYOUTS.region, (id) => regionInfo(pool, id), handleOf, REGION_ATTRIBUTES);
}

/** The tail of the reply to `symbols`: subjects are numbers from 1 on. */
export function symbolRecords(symbols: Executable['symbols'], { of: handleOf }: Handles): Uint8Array {
  const records = new Records();
  for (const [i, symbol] of symbols.entries()) {
    records.addAnswers(i + 1, ATTRIBUTE_LAYOUTS.symbol, (id) => symbolInfo(symbol, id), handleOf);
  }
  return records.encode();
}
