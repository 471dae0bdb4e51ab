import {respond} from '#page/api/call.js';
import {followSocket} from '#page/api/socket.js';

export interface LogSource {
  readonly path: string;
  readonly container: string;
  readonly isPrevious: boolean;
}

const tailLines = '1000';

/** Reads a log to its end, and as it grows. Rejects with what the server says if it has none. */
export const readLog = ({path, container, isPrevious}: LogSource, signal: AbortSignal, add: (text: string) => void): Promise<void> => {
  const query = new URLSearchParams({container, tailLines, ...(isPrevious ? {previous: 'true'} : {follow: 'true'})});
  return new Promise((resolve, reject) => {
    followSocket(`${path}?${query}`, signal, {
      message: add,
      ended(how) {
        if (how === 'closed') return resolve();
        if (how === 'lost') return reject(new Error('the connection is gone'));
        // A browser does not tell why a WebSocket was refused.
        const asked = new URLSearchParams({container, tailLines: '1', ...(isPrevious ? {previous: 'true'} : {})});
        respond(`${path}?${asked}`, {accept: 'text/plain', signal}).then(() => reject(new Error('the log cannot be followed')), reject);
      },
    });
  });
};
