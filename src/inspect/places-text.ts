/** Sets of registers and state as text: `s[0:3] vcc v5 scc`. */
import { REGISTER_PLACES, registerOf, stateOf } from '../flow/steps.ts';
import { SGPR_EXEC_LO, SGPR_M0, SGPR_VCC_LO } from '../isa/amdgpu/encoding/registers.ts';

/** Registers of the scalar file with names of their own. */
const NAMED: Readonly<Record<number, string>> = {
  [SGPR_VCC_LO]: 'vcc_lo',
  [SGPR_VCC_LO + 1]: 'vcc_hi',
  [SGPR_M0]: 'm0',
  [SGPR_EXEC_LO]: 'exec_lo',
  [SGPR_EXEC_LO + 1]: 'exec_hi',
};
const PAIRS: readonly (readonly [halves: string, name: string])[] = [
  ['vcc_lo vcc_hi', 'vcc'],
  ['exec_lo exec_hi', 'exec'],
];

/** How many places at most are listed as those that are missing. */
const MAX_MISSING = 256;

/** Of a set of numbers as `registerNumber` and `stateNumber` give them, among `all`. */
export function placesText(places: bigint, all = REGISTER_PLACES.everything): string {
  const missing = all & ~places;
  if (missing === 0n) return 'everything';
  const count = missing.toString(2).replaceAll('0', '').length;
  return count <= MAX_MISSING ? `everything but ${namesOf(missing)}` : namesOf(places);
}

function namesOf(places: bigint): string {
  const names: string[] = [];
  let range: { letter: string; first: number; last: number } | undefined;
  const close = (): void => {
    if (!range) return;
    const { letter, first, last } = range;
    names.push(first === last ? `${letter}${first}` : `${letter}[${first}:${last}]`);
    range = undefined;
  };
  const bits = places.toString(2);
  for (let number = 0; number < bits.length; number++) {
    if (bits[bits.length - 1 - number] === '0') continue;
    const name = stateOf(number) ?? (number < 128 ? NAMED[number] : undefined);
    if (name !== undefined) {
      close();
      names.push(name);
      continue;
    }
    const [file, index] = registerOf(number);
    const letter = file[0]!;
    if (range?.letter === letter && range.last === index - 1) range.last = index;
    else {
      close();
      range = { letter, first: index, last: index };
    }
  }
  close();
  return PAIRS.reduce((text, [halves, name]) => text.replace(halves, name), names.join(' '));
}
