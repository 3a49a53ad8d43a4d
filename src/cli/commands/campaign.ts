import { WavewrightError } from '../../base/errors.ts';
import { type CampaignState, Campaigns, countJobs, expectCampaignName } from '../../fleet/queue/campaign.ts';
import type { QueueConnection } from '../../fleet/queue/connection.ts';
import { countWorkers } from '../../fleet/queue/workers.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { QUEUE_OPTIONS } from '../arguments/queue-options.ts';
import { openQueue } from '../batch/open-queue.ts';

/** What can be done with runs on a queue. */
const ACTIONS = ['list', 'status', 'cancel', 'retry', 'delete'] as const;
const { queue, insecure, 'queue-timeout': queueTimeout } = QUEUE_OPTIONS;

export const campaign = defineCommand({
  operands: { usage: 'list|status|cancel|retry|delete [NAME]', min: 1, max: 2 },
  options: {
    ...{ queue, insecure, 'queue-timeout': queueTimeout },
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how campaigns are printed' },
  },
  formats: { text: 'a line for each campaign', json: 'one object' },
  notes: [
    'list, status: what is on the queue. cancel: workers drop it at once, verdicts stay. retry: lets it go on, and gives lost',
    'cases and those with errors another try. delete: removes all of it.',
  ],
  async run(context, options, [action = '', name]) {
    const known = ACTIONS.find((each) => each === action);
    if (known === undefined)
      throw new WavewrightError('USAGE', `campaign takes ${ACTIONS.join(', ')}, not '${action}'`);
    if (known !== 'list' && name === undefined) throw new WavewrightError('USAGE', `campaign ${known} needs a NAME`);
    await using connection = await openQueue({ ...context, isQuiet: true }, options);
    const campaigns = new Campaigns(connection);
    if (known === 'list') {
      await print(context, connection, options.format, await campaigns.names());
      return 0;
    }
    const chosen = expectCampaignName(name ?? '');
    if (!(await campaigns.read(chosen).catch(() => true))) {
      throw new WavewrightError('USAGE', `there is no campaign ${chosen} at ${connection.shown}`);
    }
    if (known === 'status') await print(context, connection, options.format, [chosen]);
    else if (known === 'cancel') await campaigns.cancel(chosen);
    else if (known === 'delete') await campaigns.delete(chosen);
    else {
      const count = await campaigns.retry(chosen);
      context.stdout(`campaign ${chosen} is open; ${amount(count, 'case')} that had been lost or an error run again\n`);
    }
    return 0;
  },
});

async function print(
  context: CommandContext,
  connection: QueueConnection,
  format: string,
  names: readonly string[],
): Promise<void> {
  const campaigns = new Campaigns(connection);
  const workers = await countWorkers(connection);
  const found = [];
  for (const name of names) {
    const state = await campaigns.read(name).catch(() => undefined);
    if (!state) continue;
    const jobs = await connection.ask(countJobs(connection.queue(name)));
    const { record, cases, whole } = state;
    found.push({ ...record, cases, digest: whole?.digest, state: stateOf(state), jobs });
  }
  if (format === 'json') {
    context.stdout(
      `${JSON.stringify({ schema: 'wavewright.campaigns', version: 1, workers, campaigns: found }, undefined, 2)}\n`,
    );
    return;
  }
  for (const { name, cases, digest, state, began, version, jobs } of found) {
    const { waiting, active, completed, failed } = jobs;
    const counts = `jobs: ${waiting} waiting, ${active} running, ${completed} done, ${failed} failed`;
    context.stdout(
      `${name}  ${state}  ${cases} cases${digest === undefined ? ' or more' : ''}  ${counts}  began ${began}  wavewright ${version}\n`,
    );
  }
  context.stdout(`${amount(found.length, 'campaign')}, ${amount(workers, 'worker')}\n`);
}

const amount = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const stateOf = ({ isCancelled, finishedMs }: CampaignState): string =>
  isCancelled ? 'cancelled' : finishedMs === undefined ? 'open' : 'finished';
