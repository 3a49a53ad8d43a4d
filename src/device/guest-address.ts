/**
 * Who chose an address. Both kinds are bigints when the program runs; the type checker tells them apart, so
 * that what a packet, a signal or a kernel descriptor holds does not reach the look-up that is the host's.
 */
declare const CHOSEN_OUTSIDE: unique symbol;

/**
 * From outside: GPU code can have written it. It is a number until `DeviceMemory.guestView` found memory that
 * the GPU may use so.
 */
export type GuestAddress = bigint & { readonly [CHOSEN_OUTSIDE]: true };

/** The host's own: what it allocated itself, or what its user gives it. */
export type HostAddress = bigint & { readonly [CHOSEN_OUTSIDE]?: never };

/**
 * Says where the number comes from. Arithmetic on such an address forgets that: its result is marked again.
 */
export const guestAddress = (value: bigint): GuestAddress => value as GuestAddress; // reason: the mark is of the type only
