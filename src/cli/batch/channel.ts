/** How a pool talks to what runs a case: a thread, or a process. */
import type { CaseMessage, CaseRequest } from './run-case.ts';

export interface ChannelListener {
  readonly onMessage: (message: CaseMessage) => void;
  /** Once, and nothing comes behind it: why no answer will come any more. */
  readonly onEnd: (reason: string) => void;
}

export interface Channel {
  /** One request at a time. */
  send(request: CaseRequest): void;
  /** Ends what runs there, whatever it does, without a word to the listener. */
  kill(): void;
}

export type OpenChannel = (listener: ChannelListener) => Channel;
