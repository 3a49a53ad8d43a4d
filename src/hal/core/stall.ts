/**
 * Why operations stand still: what each of them waits for, who was to end that, and what it all comes from.
 * Computed when somebody asks, from what schedulers and queues of drivers know anyway.
 */
import { describeOperation, type OperationInfo } from './status.ts';

/** A timepoint, as far as it matters here. */
export interface AwaitedPoint {
  readonly semaphore: { readonly label: string; readonly value: number };
  readonly value: number;
}

/** How far the packets of a queue are: epochs count its submissions from 1. */
export interface QueuePosition {
  readonly completedEpoch: number;
  readonly submittedEpoch: number;
}

/** Where an operation stands in the queue of a driver that has it. */
export type QueueStanding = QueuePosition &
  (
    | { readonly kind: 'running' }
    /** Its packets are behind those of another operation. */
    | { readonly kind: 'behind'; readonly of: OperationInfo }
    /** Its packets wait for operations of other queues. */
    | { readonly kind: 'held'; readonly by: readonly OperationInfo[] }
    /** A ring is full until an operation ends. */
    | { readonly kind: 'parked'; readonly ring: RingName; readonly until: OperationInfo }
  );

/** Notifications are the ends that the host is to be told of. */
export type RingName = 'packets' | 'arguments' | 'notifications';

/** An operation that was submitted and has not ended. */
export interface UnfinishedOperation {
  readonly operation: OperationInfo;
  readonly state: 'waiting' | 'ready' | 'running';
  /** Those that are not reached. */
  readonly waits: readonly AwaitedPoint[];
  readonly signals: readonly AwaitedPoint[];
  /** Of one that runs, where its driver knows. */
  readonly standing?: QueueStanding | undefined;
  /** Of one that runs: what of the host it waits for, such as memory of a pool. */
  readonly hostWait?: string | undefined;
}

/** What stands in the way of an operation. */
export type StallBlocker =
  | {
      readonly kind: 'semaphore';
      readonly semaphore: string;
      readonly wantedValue: number;
      readonly presentValue: number;
      /** Operations that have not ended and are going to signal it; none: nobody does. */
      readonly signalledBy: readonly OperationInfo[];
    }
  | { readonly kind: 'queue'; readonly standing: QueueStanding }
  /** A promise, a file, memory or an event. */
  | { readonly kind: 'host'; readonly what: string };

export interface StalledOperation {
  readonly operation: OperationInfo;
  readonly state: UnfinishedOperation['state'];
  /** All of them have to go; empty: it may begin at any time. */
  readonly blockers: readonly StallBlocker[];
}

/** What nobody is going to end who waits himself. */
export interface StallCause {
  /**
   * `running`: a kernel or another operation of a queue runs; `semaphore`: nothing that was submitted signals
   * it; `circle`: operations wait for each other; `host`: as of a blocker.
   */
  readonly kind: 'running' | 'semaphore' | 'circle' | 'host';
  /** Those that run or wait for it directly; of a circle each waits for the next, the last for the first. */
  readonly operations: readonly OperationInfo[];
  /** A sentence for people. */
  readonly text: string;
}

export interface StallReport {
  /** What it is about: a device, or a wait. */
  readonly name: string;
  /** For how long nothing began or ended, in milliseconds; absent where nobody watched. */
  readonly idleMs?: number;
  /** In the order of submission. */
  readonly operations: readonly StalledOperation[];
  readonly causes: readonly StallCause[];
}

interface Node {
  readonly unfinished: UnfinishedOperation;
  readonly steps: Step[];
}

/** Of what has to end before an operation does. */
interface Step {
  readonly blocker: StallBlocker;
  /** Operations of which one has to end; none: it is not an operation that is waited for. */
  readonly ways: readonly Node[];
}

/** Causes that a report has at most, and names of operations in a sentence. */
const MAX_CAUSES = 16;
const MAX_NAMES = 4;

/** What `own` operations stand still for. `all`: of every device that may be waited for, `own` included. */
export function explainStall(
  name: string,
  own: readonly UnfinishedOperation[],
  all: readonly UnfinishedOperation[],
): StallReport {
  const nodes = graphOf(all);
  const mine = new Set(own.map(({ operation }) => operation));
  const ownNodes = nodes.filter(({ unfinished }) => mine.has(unfinished.operation));
  const operations = ownNodes.map(({ unfinished: { operation, state }, steps }) => {
    const blockers = [...new Set(steps.map(({ blocker }) => blocker))];
    return { operation, state, blockers };
  });
  return { name, operations, causes: causesOf(reachable(ownNodes)).slice(0, MAX_CAUSES) };
}

/** What timepoints are waited for that nobody reaches. */
export function explainWaits(
  waits: readonly AwaitedPoint[],
  all: readonly UnfinishedOperation[],
): readonly StallCause[] {
  const operation: OperationInfo = { id: 0, kind: 'wait', queue: 'the host' };
  const waiter: UnfinishedOperation = { operation, state: 'waiting', waits, signals: [] };
  return explainStall('the host', [waiter], [...all, waiter]).causes;
}

function graphOf(all: readonly UnfinishedOperation[]): Node[] {
  const nodes = all.map((unfinished): Node => ({ unfinished, steps: [] }));
  const byOperation = new Map(nodes.map((node) => [node.unfinished.operation, node]));
  const signallers = new Map<AwaitedPoint['semaphore'], Signaller[]>();
  for (const node of nodes) {
    for (const { semaphore, value } of node.unfinished.signals) {
      const list = signallers.get(semaphore) ?? [];
      signallers.set(semaphore, list);
      list.push({ value, node });
    }
  }
  for (const { unfinished, steps } of nodes) {
    const { waits, standing, hostWait } = unfinished;
    if (hostWait !== undefined) steps.push({ blocker: { kind: 'host', what: hostWait }, ways: [] });
    if (standing === undefined) {
      for (const wait of waits) steps.push(semaphoreStep(wait, signallers.get(wait.semaphore) ?? []));
      continue;
    }
    const blocker = { kind: 'queue', standing } as const;
    const before = operationsBefore(standing).map((each) => byOperation.get(each));
    const found = before.filter((node) => node !== undefined);
    if (found.length === 0) steps.push({ blocker, ways: [] });
    for (const node of found) steps.push({ blocker, ways: [node] });
  }
  return nodes;
}

interface Signaller {
  readonly value: number;
  readonly node: Node;
}

function semaphoreStep({ semaphore, value }: AwaitedPoint, signallers: readonly Signaller[]): Step {
  const ways = signallers.filter((each) => each.value >= value).map(({ node }) => node);
  return {
    ways,
    blocker: {
      kind: 'semaphore',
      semaphore: semaphore.label,
      wantedValue: value,
      presentValue: semaphore.value,
      signalledBy: ways.map(({ unfinished }) => unfinished.operation),
    },
  };
}

function operationsBefore(standing: QueueStanding): readonly OperationInfo[] {
  switch (standing.kind) {
    case 'running':
      return [];
    case 'behind':
      return [standing.of];
    case 'held':
      return standing.by;
    case 'parked':
      return [standing.until];
  }
}

function reachable(from: readonly Node[]): Node[] {
  const seen = new Set(from);
  // A set that grows while it is walked is walked to its end.
  for (const { steps } of seen) for (const { ways } of steps) for (const next of ways) seen.add(next);
  return [...seen];
}

function causesOf(nodes: readonly Node[]): StallCause[] {
  const roots = new Map<string, Root & { readonly operations: OperationInfo[] }>();
  for (const { unfinished, steps } of nodes) {
    const { operation } = unfinished;
    for (const { blocker, ways } of steps) {
      if (ways.length > 0) continue;
      const root = rootOf(operation, blocker);
      const found = roots.get(root.key) ?? { ...root, operations: [] };
      roots.set(root.key, found);
      found.operations.push(operation);
    }
  }
  const causes = [...roots.values()].map(({ kind, operations, text }) => ({
    kind,
    operations,
    text: text(operations),
  }));
  return [...causes, ...circlesOf(nodes)];
}

interface Root {
  /** Equal causes have one. */
  readonly key: string;
  readonly kind: StallCause['kind'];
  readonly text: (operations: readonly OperationInfo[]) => string;
}

function rootOf(operation: OperationInfo, blocker: StallBlocker): Root {
  const name = nameOf(operation);
  switch (blocker.kind) {
    case 'semaphore': {
      const { semaphore, wantedValue, presentValue } = blocker;
      const key = `'${semaphore}' ≥ ${wantedValue} is at ${presentValue}, and nothing that was submitted signals it`;
      // Whoever waits knows what for, and where it is.
      if (operation.id === 0) {
        const own = `nothing that was submitted signals '${semaphore}' ≥ ${wantedValue}`;
        return { key: own, kind: 'semaphore', text: () => own };
      }
      return { key, kind: 'semaphore', text: (waiting) => `${key}; for it ${verb(waiting)} ${namesOf(waiting)}` };
    }
    case 'queue': {
      const { completedEpoch, submittedEpoch } = blocker.standing;
      const how = `${completedEpoch} of ${submittedEpoch} submissions of its queue are complete`;
      return { key: name, kind: 'running', text: () => `${name} runs and does not end: ${how}` };
    }
    case 'host':
      return { key: name, kind: 'host', text: () => `${name} waits for ${blocker.what}` };
  }
}

const verb = ({ length }: readonly unknown[]): string => (length === 1 ? 'waits' : 'wait');

/** One for each group of operations that cannot end whatever happens outside of them. */
function circlesOf(nodes: readonly Node[]): StallCause[] {
  const stuck = stuckOf(nodes);
  const seen = new Set<Node>();
  const circles: StallCause[] = [];
  for (const start of stuck) {
    const path = new Map<Node, number>();
    let node: Node | undefined = start;
    // Whatever is stuck waits for something that is: the way ends where it was before.
    while (node !== undefined && !seen.has(node)) {
      seen.add(node);
      path.set(node, path.size);
      node = node.steps.find(({ ways }) => ways.length > 0 && ways.every((each) => stuck.has(each)))?.ways[0];
    }
    const first = node === undefined ? undefined : path.get(node);
    if (first !== undefined) circles.push(circleOf([...path.keys()].slice(first)));
  }
  return circles;
}

/** What can only end when another of them does. */
function stuckOf(nodes: readonly Node[]): Set<Node> {
  const stuck = new Set(nodes);
  const waiters = new Map<Node, Node[]>();
  for (const node of nodes) {
    for (const { ways } of node.steps) {
      for (const next of ways) {
        const list = waiters.get(next) ?? [];
        waiters.set(next, list);
        list.push(node);
      }
    }
  }
  const canEnd = ({ steps }: Node): boolean =>
    steps.every(({ ways }) => ways.length === 0 || ways.some((each) => !stuck.has(each)));
  const work = nodes.filter(canEnd);
  for (const node of work) {
    if (!stuck.delete(node)) continue;
    for (const waiter of waiters.get(node) ?? []) if (stuck.has(waiter) && canEnd(waiter)) work.push(waiter);
  }
  return stuck;
}

function circleOf(path: readonly Node[]): StallCause {
  const parts = path.map(({ unfinished, steps }, index) => {
    const next = path[(index + 1) % path.length]!;
    const blocker = steps.find(({ ways }) => ways.includes(next))?.blocker;
    const name = nameOf(unfinished.operation);
    if (blocker?.kind !== 'semaphore') return `${name} is behind ${nameOf(next.unfinished.operation)}`;
    const { semaphore, wantedValue, presentValue } = blocker;
    const what = `'${semaphore}' ≥ ${wantedValue} (at ${presentValue})`;
    return `${name} waits for ${what} from ${nameOf(next.unfinished.operation)}`;
  });
  const operations = path.map(({ unfinished }) => unfinished.operation);
  return { kind: 'circle', operations, text: `operations wait for each other: ${shortened(parts, '; ')}` };
}

/** Who waits without being an operation has no number. */
const nameOf = (operation: OperationInfo): string =>
  operation.id === 0 ? operation.queue : describeOperation(operation);

const namesOf = (operations: readonly OperationInfo[]): string => shortened(operations.map(nameOf), ', ');

function shortened(parts: readonly string[], separator: string): string {
  const more = parts.length - MAX_NAMES;
  return more <= 0 ? parts.join(separator) : [...parts.slice(0, MAX_NAMES), `${more} more`].join(separator);
}

/** Operations that a text lists. */
const MAX_LINES = 16;

/** A report for people: the causes, then what each operation waits for. */
export function formatStall({ name, idleMs, operations, causes }: StallReport): string {
  const since = idleMs === undefined ? '' : `nothing began or ended for ${Math.round(idleMs)} ms, `;
  const count = operations.length === 1 ? '1 operation has' : `${operations.length} operations have`;
  const lines = [`${name}: ${since}${count} not ended`];
  for (const { text } of causes) lines.push(`  cause: ${text}`);
  for (const { operation, state, blockers } of operations.slice(0, MAX_LINES)) {
    const what = blockers.length === 0 ? state : blockers.map(describeBlocker).join('; ');
    lines.push(`  ${nameOf(operation)}: ${what}`);
  }
  if (operations.length > MAX_LINES) lines.push(`  and ${operations.length - MAX_LINES} operations more`);
  return lines.join('\n');
}

function describeBlocker(blocker: StallBlocker): string {
  switch (blocker.kind) {
    case 'semaphore': {
      const { semaphore, wantedValue, presentValue, signalledBy } = blocker;
      const who = signalledBy.length === 0 ? 'nobody' : namesOf(signalledBy);
      return `waits for '${semaphore}' ≥ ${wantedValue}, which is at ${presentValue}; ${who} signals it`;
    }
    case 'host':
      return `waits for ${blocker.what}`;
    case 'queue':
      return describeStanding(blocker.standing);
  }
}

function describeStanding(standing: QueueStanding): string {
  switch (standing.kind) {
    case 'running': {
      const { completedEpoch, submittedEpoch } = standing;
      return `runs as submission ${completedEpoch + 1} of ${submittedEpoch} of its queue`;
    }
    case 'behind':
      return `is in its queue behind ${nameOf(standing.of)}`;
    case 'held':
      return `is in its queue, which waits for ${namesOf(standing.by)}`;
    case 'parked':
      return `has no room in the ring of ${standing.ring} until ${nameOf(standing.until)} ends`;
  }
}
