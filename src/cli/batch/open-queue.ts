import { WavewrightError } from '../../base/errors.ts';
import { QueueConnection } from '../../fleet/queue/connection.ts';
import { parseQueueUrl } from '../../fleet/queue/queue-url.ts';
import type { CommandContext } from '../arguments/command.ts';
import type { OptionValues } from '../arguments/options.ts';
import { type QUEUE_OPTIONS, QUEUE_VARIABLE } from '../arguments/queue-options.ts';
import { warn } from '../text/report.ts';

const MS_PER_S = 1000;

/**
 * Connects to the queue of the options, else to that of the environment. Throws USAGE, and as connections do.
 */
export async function openQueue(
  context: CommandContext,
  options: Pick<OptionValues<typeof QUEUE_OPTIONS>, 'queue' | 'insecure' | 'queue-timeout'>,
): Promise<QueueConnection> {
  const text = options.queue || context.env[QUEUE_VARIABLE];
  if (!text) {
    throw new WavewrightError('USAGE', `there is no queue: neither --queue=URL nor ${QUEUE_VARIABLE} names one`);
  }
  const connection = await QueueConnection.open({
    address: parseQueueUrl(text, options.insecure),
    timeoutMs: options['queue-timeout'] * MS_PER_S,
    onNews: (news) => warn(context, news),
  });
  await connection.checkServer();
  return connection;
}
