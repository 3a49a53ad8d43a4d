/** The time by which the host measures and slices work. */

/** Milliseconds, from some beginning; never less than before. */
export type HostClock = () => number;

export const hostClock: HostClock = performance.now.bind(performance);

const STEP_MS = 0.01;

/** Each look moves it on, and nothing else: what goes by it is the same in every run. */
export function countedClock(): HostClock {
  let looks = 0;
  return () => STEP_MS * looks++;
}
