const MAX_STACK_BYTES = 2 ** 28;

/** Private memory of a work-item, as commands that run code take it. */
export const STACK_SIZE_OPTION = {
  kind: 'integer',
  placeholder: 'BYTES',
  min: 1024,
  max: MAX_STACK_BYTES,
  description:
    'private memory of a work-item, at least; by default what a kernel needs, 16384 where that cannot be seen',
} as const;
