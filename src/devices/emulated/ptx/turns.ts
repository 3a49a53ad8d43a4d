/** Which lanes of a wave go on when none is active. */
import { STATE_OFFSETS, WAVE_VGPRS } from '../../../emulator/machine/layout.ts';
import { PLACES } from '../../../ptx/machine/places.ts';

const LANES = 32;

/**
 * Makes those lanes active that wait at one place in one activation: in the latest one, at the place that
 * stands first, as they would be without turns. Returns the low half of the address where they go on.
 */
export function takeTurn(words: Int32Array, wave: number): number {
  const scalars = wave >> 2;
  const rows = (wave + WAVE_VGPRS) >> 2;
  const live = words[scalars + PLACES.live.first]!;
  const at = (row: number, lane: number): number => words[rows + row * LANES + lane]! >>> 0;
  let [place, activation, exec] = [0, 0, 0];
  for (let lane = 0; lane < LANES; lane++) {
    if (((live >>> lane) & 1) === 0) continue;
    const [own, waits] = [at(PLACES.ownActivation.first, lane), at(PLACES.join.first, lane)];
    if (own === activation && waits === place) exec |= 1 << lane;
    else if (exec === 0 || own > activation || (own === activation && waits < place)) {
      [place, activation, exec] = [waits, own, 1 << lane];
    }
  }
  words[(wave + STATE_OFFSETS.exec) >> 2] = exec;
  words[scalars + PLACES.activation.first] = activation;
  return place;
}
