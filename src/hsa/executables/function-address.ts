/** Addresses of device functions, which kernels can be given as arguments. */
import { WavewrightError } from '../../base/errors.ts';
import type { Agent } from '../objects/agent.ts';
import type { Executable } from './executable.ts';

/** Names in one hint. */
const MAX_LISTED = 20;

/**
 * Throws USAGE where the name is that of no device function which the executable exports. `agent`: needed
 * where there are several.
 */
export function functionAddress(executable: Executable, name: string, agent?: Agent): bigint {
  const symbol = executable.findSymbol(name, agent);
  if (symbol?.kind === 'indirect-function') return symbol.functionObject;
  const functions = executable.symbols.filter(({ kind }) => kind === 'indirect-function');
  const local = functions.find((each) => each.name === name);
  const found = symbol
    ? `'${name}' is a ${symbol.kind}`
    : local
      ? `'${name}' is local to ${local.codeObject.name}`
      : `there is no symbol '${name}'`;
  const names = functions.filter(({ linkage }) => linkage === 'program').map((each) => each.name);
  throw new WavewrightError('USAGE', `${found}, expected a device function`, {
    hint:
      names.length > 0
        ? `the device functions are ${names.slice(0, MAX_LISTED).join(', ')}${names.length > MAX_LISTED ? ', …' : ''}`
        : 'none of the files exports a device function; clang wants -fvisibility=default',
  });
}
