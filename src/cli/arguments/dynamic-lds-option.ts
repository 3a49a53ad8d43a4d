const MAX_LDS_BYTES = 2 ** 20;

/** `--dynamic-lds` of commands that dispatch a kernel. `verbs`: said before it where not all heed it. */
export const dynamicLdsOption = (verbs = '') =>
  ({
    kind: 'integer',
    placeholder: 'BYTES',
    min: 0,
    max: MAX_LDS_BYTES,
    default: 0,
    description: `${verbs}memory of the workgroup beyond what kernel and arguments ask for`,
  }) as const;
