/** Where the waves of a dispatch stand, in words: for a kernel that does not end. */

import { hex } from '../../base/text.ts';
import type { WaveState } from '../machine/group-layout.ts';
import type { Triple } from '../machine/launch.ts';

export interface WavePlace {
  readonly workgroup: Triple;
  readonly wave: number;
  readonly state: Exclude<WaveState, 'ended'>;
  /**
   * `pc 0x7f0000001040 in kernel+0x40: s_barrier`: the next instruction; of a wave that waits, the one that
   * it waits in.
   */
  readonly place: string;
  readonly exec: bigint;
  /** Of the instruction in `place`. */
  readonly pc?: bigint;
  /** What lanes of it wait for, where that is no other wave: `waiting for lanes 0xff`. */
  readonly note?: string;
}

/** Places that are listed; the others are counted. */
const MAX_PLACES = 16;
/** Workgroups that a line names. */
const MAX_WORKGROUPS = 4;

const WORDS: Readonly<Record<WavePlace['state'], string>> = {
  ready: 'running',
  spent: 'running',
  sleeping: 'asleep',
  barrier: 'waiting',
  named: 'waiting',
};

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/**
 * A line for each place where waves stand, the one with the most waves first, and what it looks like. Empty
 * without waves. `sourceOf`: where the instruction at a pc comes from.
 */
export function describeWavePlaces(
  waves: readonly WavePlace[],
  sourceOf: (pc: bigint) => string | undefined = () => undefined,
): string[] {
  if (waves.length === 0) return [];
  const places = [...Map.groupBy(waves, ({ state, place, note }) => `${note || WORDS[state]} at ${place}`)];
  places.sort(([, a], [, b]) => b.length - a.length);
  const lines = places.slice(0, MAX_PLACES).map(([place, there]) => {
    const [{ exec, pc }] = there as [WavePlace];
    const source = pc === undefined ? undefined : sourceOf(pc);
    const others = there.some((wave) => wave.exec !== exec) ? ' and others' : '';
    return `${counted(there.length, 'wave')} ${place}${source === undefined ? '' : `; ${source}`}; EXEC ${hex(exec)}${others}; ${namesOf(there)}`;
  });
  if (places.length > MAX_PLACES) {
    const rest = places.slice(MAX_PLACES).reduce((sum, [, there]) => sum + there.length, 0);
    lines.push(`${counted(rest, 'wave')} at ${counted(places.length - MAX_PLACES, 'other place')}`);
  }
  return [...lines, `this looks like ${impressionOf(waves)}`];
}

/** `workgroup (0, 0, 0) waves 0 to 2, 5; and 7 more workgroups`. */
function namesOf(waves: readonly WavePlace[]): string {
  const workgroups = [...Map.groupBy(waves, ({ workgroup }) => workgroup.join(', '))];
  const names = workgroups.slice(0, MAX_WORKGROUPS).map(([id, members]) => {
    const numbers = members.map(({ wave }) => wave).sort((a, b) => a - b);
    return `workgroup (${id}) wave${numbers.length === 1 ? '' : 's'} ${ranges(numbers)}`;
  });
  const more = workgroups.length - names.length;
  return [...names, ...(more > 0 ? [`and ${counted(more, 'more workgroup')}`] : [])].join('; ');
}

/** `0 to 2, 5` for ascending numbers. */
function ranges(numbers: readonly number[]): string {
  const found: [first: number, last: number][] = [];
  for (const number of numbers) {
    const range = found.at(-1);
    if (range && range[1] === number - 1) range[1] = number;
    else found.push([number, number]);
  }
  return found.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(', ');
}

const isAtBarrier = ({ state }: WavePlace): boolean => state === 'barrier' || state === 'named';

function impressionOf(waves: readonly WavePlace[]): string {
  const all = (...states: WavePlace['state'][]): boolean => waves.every(({ state }) => states.includes(state));
  if (all('sleeping')) return 'a wait for the host, such as for an RPC port, or for a lock: every wave sleeps';
  const divided = [...Map.groupBy(waves, ({ workgroup }) => workgroup.join(', ')).values()].find(
    (members) => new Set(members.map(isAtBarrier)).size === 2,
  );
  if (divided) {
    const missing = divided.filter((wave) => !isAtBarrier(wave));
    const [id] = divided.map(({ workgroup }) => workgroup.join(', '));
    return `a barrier that not all waves reach: ${counted(missing.length, 'wave')} of workgroup (${id}) ${missing.length === 1 ? 'is' : 'are'} elsewhere`;
  }
  if (all('sleeping', 'barrier', 'named')) return 'a deadlock: waves sleep or wait at barriers';
  if (new Set(waves.map(({ place }) => place)).size === 1) return 'an endless loop, or more work than the time allows';
  return 'a loop, or more work than the time allows';
}
