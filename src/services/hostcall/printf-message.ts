/**
 * printf as HIP's compiler passes it on: the format with its NUL, then the arguments, each in 64-bit words of
 * its own: a number in one, a string with its NUL in as many as it takes.
 */
import { alignUp } from '../../base/align.ts';
import { beforeNul } from '../../base/bytes.ts';
import type { ConversionArguments } from '../../printf/arguments.ts';
import { formatPrintf } from '../../printf/format.ts';
import { GLIBC_DIALECT, type Measure, parseFormat, type Section } from '../../printf/parse.ts';

const wordsOf = (sizeBytes: number): number => alignUp(sizeBytes, 8);

/** What the call prints. Throws LIMIT_EXCEEDED for a format or a text that is too long. */
export function printfText(message: Uint8Array): Uint8Array {
  const format = beforeNul(message);
  return printArguments(format, message.subarray(wordsOf(format.length + 1)));
}

/**
 * As `printfText`, with format and arguments apart. What follows the last argument that is there is not
 * printed.
 */
export function printArguments(format: Uint8Array, area: Uint8Array): Uint8Array {
  const sections: Section[] = [];
  const values: (ConversionArguments | undefined)[] = [];
  const strings: Uint8Array[] = [];
  const data = new DataView(area.buffer, area.byteOffset, area.byteLength);
  let at = 0;
  const word = (): bigint => {
    at += 8;
    return at <= area.length ? data.getBigUint64(at - 8, true) : 0n;
  };
  const measure = (given: Measure) => (given === 'argument' ? Number(BigInt.asIntN(32, word())) : given);
  for (const section of parseFormat(format, GLIBC_DIALECT)) {
    const { conversion } = section;
    let value: ConversionArguments | undefined;
    if (conversion !== undefined) {
      const [width, precision] = [measure(conversion.width), measure(conversion.precision)];
      if (conversion.argumentSizeBytes > 0 && at >= area.length) break;
      if (conversion.specifier === 's') {
        const string = beforeNul(area.subarray(at));
        strings.push(string);
        at += wordsOf(string.length + 1);
        value = { width, precision, value: 1n };
      } else value = { width, precision, value: conversion.argumentSizeBytes > 0 ? word() : 0n };
    }
    sections.push(section);
    values.push(value);
  }
  return formatPrintf(sections, values, strings, GLIBC_DIALECT);
}
