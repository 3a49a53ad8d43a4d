/**
 * `node --import ./test/high-memory.ts --test FILES`: emulated devices allocate above 2 GiB, up to the end of
 * their 4 GiB. An offset that is taken for a signed integer anywhere shows there. `npm run test:high` leaves
 * out files that have no device memory, or that need more than the upper half has.
 */
import { placement } from '../src/emulator/machine/memory.ts';

placement.isHigh = true;
