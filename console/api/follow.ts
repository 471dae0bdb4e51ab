// Following what changes, by WebSocket. Where that is refused, by an older server, by what stands between, or for want
// of rights, a request asks for the same now and then, and tells why it is refused.

import {messageOf} from '#src/base/message.js';
import {retryDelay} from './call.js';
import {followSocket} from './socket.js';

/** What is followed. */
export interface Followed {
  /** The path of the WebSocket, from where it was followed to. */
  path(): string;
  message(text: string): void;
  /** Asks by a request for what has come since. */
  ask(): Promise<void>;
  /** Called with why what is shown does not follow, or late; with undefined once it follows. */
  behind(why: string | undefined): void;
}

/** How often a request asks for what has come. */
const askMs = 5000;

/** What stays open for so long is meant to bring something, though it may be quiet. */
const provenMs = 3000;

const isLate =
  'Changes are shown some seconds late: the WebSocket that would bring them at once is refused, by the server or by a proxy before it.';

/** Follows until the signal aborts. What fails is tried again, more and more seldom. */
export const follow = (signal: AbortSignal, {path, message, ask, behind}: Followed): void => {
  /** How many requests in a row failed. */
  let failures = 0;
  /** How many in a row were soon closed, and brought nothing. */
  let silent = 0;
  const follows = (): void => {
    [silent, failures] = [0, 0];
    behind(undefined);
  };
  const again = (ms: number): void => void setTimeout(open, ms);
  const askInstead = async (isRefused: boolean): Promise<void> => {
    try {
      await ask();
      if (signal.aborted) return;
      if (isRefused) behind(isLate);
      failures = 0;
      again(askMs);
    } catch (error) {
      if (signal.aborted) return;
      behind(`What is shown does not follow the cluster: ${messageOf(error)}`);
      again(retryDelay(failures++));
    }
  };
  const open = (): void => {
    if (signal.aborted) return;
    let isProven = false;
    const prove = (): void => {
      if (!isProven) follows();
      isProven = true;
    };
    let proving: ReturnType<typeof setTimeout> | undefined;
    followSocket(path(), signal, {
      opened() {
        if (silent === 0) behind(undefined);
        proving = setTimeout(() => signal.aborted || prove(), provenMs);
      },
      message(text) {
        prove();
        message(text);
      },
      ended(how) {
        clearTimeout(proving);
        if (isProven) return again(retryDelay(0));
        // What is closed again and again is not meant to bring anything.
        if (how !== 'refused') silent++;
        void askInstead(how === 'refused' || silent > 1);
      },
    });
  };
  open();
};
