/**
 * The part of a resident workgroup that its runner keeps in linear memory: where its waves are and what each
 * of them does, and what it takes to begin further workgroups of the grid in its place.
 */
import { WAVE_VGPRS } from './layout.ts';

const FIELDS = [
  /** Waves of the current workgroup, those that have not ended, and the one that runs. */
  'count',
  'live',
  'current',
  /** Instructions run and waves that ended or met a barrier, since the host last looked. */
  'used',
  'events',
  /** Of `used`: what compiled code ran, and of that what ran in loops compiled as a whole. */
  'compiled',
  'looped',
  /** Instructions of one turn of a wave; after about `limit` of all waves the host has its turn. */
  'turn',
  'limit',
  /** Workgroups begun since the host last looked, and how many more may be. */
  'started',
  'remaining',
  /**
   * Ids of the current and of the next workgroup; workgroups in each dimension, those that are not cut at the
   * edge, and their waves.
   */
  'idX',
  'idY',
  'idZ',
  'nextX',
  'nextY',
  'nextZ',
  'countX',
  'countY',
  'countZ',
  'fullX',
  'fullY',
  'fullZ',
  'fullCount',
  /** Offset of the SGPR of each id, and of the one that has two of them; -1 without. */
  'sgprX',
  'sgprY',
  'sgprZ',
  'sgprYZ',
  /** First wave's state, and the distance to the next; the same for the states that waves begin with. */
  'waves',
  'waveStride',
  'templates',
  /** Bytes of VGPRs and AGPRs to clear. */
  'vgprBytes',
  'agprBytes',
  'lds',
  'ldsBytes',
  /** Workgroups that may be done with another; those that the first wave did, with the current one, or 0. */
  'maxSeries',
  'series',
  /** Whether waves behind the current one that wait at the barrier are ready, as the host is to see them. */
  'released',
] as const;

export type GroupField = (typeof FIELDS)[number];

/** Where the fields are, from the start of the part. */
export const GROUP = Object.fromEntries(FIELDS.map((field, index) => [field, index * 4])) as Readonly<
  Record<GroupField, number>
>;

/** Behind the fields, a dword for each wave: a number of WAVE_STATES. */
export const GROUP_STATES = 192;

/** `spent`: it used its turn; `named`: it waits at a barrier with a number. */
export const WAVE_STATES = ['ready', 'spent', 'sleeping', 'barrier', 'named', 'ended'] as const;
export type WaveState = (typeof WAVE_STATES)[number];
export const stateCode = (state: WaveState): number => WAVE_STATES.indexOf(state);

/**
 * A template is what a wave of a workgroup begins with: its scalar state, then the rows that may hold
 * work-item ids. The runner copies it into the wave when it begins a further workgroup.
 */
export const TEMPLATE_SCALAR_BYTES = 640;
export const ID_REGISTERS = 3;
export const templateRowBytes = (waveSize: 32 | 64): number => ID_REGISTERS * waveSize * 4;
export const templateBytes = (waveSize: 32 | 64): number => TEMPLATE_SCALAR_BYTES + templateRowBytes(waveSize);
export const TEMPLATE_ROWS_OFFSET = WAVE_VGPRS;
