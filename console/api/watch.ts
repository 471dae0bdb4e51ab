import {followSocket} from './socket.js';

interface WatchEvent<T> {
  readonly type: string;
  readonly object: T;
}

/** Follows a watch until the signal aborts. `ended` is called once it is over, with true if the position is gone. */
export const watch = <T>(
  path: string,
  query: Readonly<Record<string, string>>,
  accept: string,
  signal: AbortSignal,
  listener: {event(type: string, object: T): void; ended(isGone: boolean): void},
): void => {
  const parameters = new URLSearchParams({...query, watch: '1', allowWatchBookmarks: '1', 'console-accept': accept});
  const over = new AbortController();
  const end = (isGone: boolean): void => {
    if (over.signal.aborted) return;
    over.abort();
    listener.ended(isGone);
  };
  signal.addEventListener('abort', () => over.abort(), {once: true, signal: over.signal});
  if (signal.aborted) return;
  followSocket(`${path}?${parameters}`, over.signal, {
    message(text) {
      const {type, object} = JSON.parse(text) as WatchEvent<T>;
      if (type === 'ERROR') end((object as {code?: number}).code === 410);
      else listener.event(type, object);
    },
    ended: () => end(false),
  });
};
