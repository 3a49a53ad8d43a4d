/** What a library was compiled for that does not say it, as commands take it. */
export const WAVE_SIZE_OPTION = {
  kind: 'choice',
  choices: ['32', '64'],
  description: 'lanes of the waves that a library was built for, where it has no kernels and its code does not show it',
} as const;

export const chosenWaveSize = (text: '32' | '64' | undefined): 32 | 64 | undefined =>
  text === undefined ? undefined : text === '32' ? 32 : 64;
