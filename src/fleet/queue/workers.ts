/** Which workers there are: each says so from time to time. */
import { PREFIX, type QueueConnection } from './connection.ts';

const INDEX = `${PREFIX}:workers`;
const LIFE_S = 15;
const keyOf = (id: string): string => `${PREFIX}:worker:${id}`;

/** Says that a worker is there. Throws what the server says when it takes nothing more. */
export async function announceWorker({ redis }: QueueConnection, id: string): Promise<void> {
  await redis.set(keyOf(id), '1', 'EX', LIFE_S);
  await redis.sadd(INDEX, id);
}

export async function dismissWorker({ redis }: QueueConnection, id: string): Promise<void> {
  await redis.srem(INDEX, id);
  await redis.del(keyOf(id));
}

/** How many there are. */
export async function countWorkers({ redis }: QueueConnection): Promise<number> {
  const ids = await redis.smembers(INDEX);
  if (ids.length === 0) return 0;
  const alive = await redis.mget(ids.map(keyOf));
  const gone = ids.filter((_, i) => alive[i] === null);
  if (gone.length > 0) await redis.srem(INDEX, ...gone);
  return ids.length - gone.length;
}
