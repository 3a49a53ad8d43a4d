/** What a record says of an event. */
import type { Report } from '../data.ts';
import { html } from '../dom.ts';
import { durationText } from '../format.ts';
import type { EventRef } from './rows.ts';

/** In one line, for a tooltip and for those who hear the page. */
export function eventSummary({ header, events }: Report, { family, row }: EventRef): string {
  const { names, starts, durations } = events[family];
  const name = header.names[names[row]!]!;
  const verb = family === 'queue' ? 'waited' : 'took';
  const took = durations[row]! > 0 ? ` ${verb} ${durationText(durations[row]!)},` : '';
  return `${name}:${took} at ${durationText(starts[row]!)}`;
}

/** Every field that says something. */
export function eventDetails({ header, events }: Report, { family, row }: EventRef): HTMLElement {
  const { fields, names, starts, durations } = events[family];
  const pairs: [string, string][] = [
    ['start', `${durationText(starts[row]!)}`],
    [family === 'queue' ? 'waited' : 'duration', durationText(durations[row]!)],
  ];
  for (const [column, { label, names: values, none }] of Object.entries(fields)) {
    const value = events[family].column(column)[row]!;
    if (value === none || (!value && values === undefined)) continue;
    const isTime = /_ns$/.test(label) && value !== undefined;
    pairs.push([label, values?.[Number(value)] ?? (isTime ? `${value} ns` : String(value))]);
  }
  const list = html('dl', {}, ...pairs.flatMap(([what, value]) => [html('dt', {}, what), html('dd', {}, value)]));
  return html(
    'div',
    {},
    html('h2', {}, header.names[names[row]!]!),
    html('p', { class: 'muted' }, `${family} event`),
    list,
  );
}
