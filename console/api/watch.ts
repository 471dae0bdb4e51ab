import {messageOf} from '#src/base/message.js';
import {ApiError, mayPass, respond} from './call.js';
import {follow} from './follow.js';

interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

interface WatchListener<T> {
  /** Returns the position after the event, if it tells one. */
  event(type: string, object: T): string | undefined;
  /** Called with why what is shown does not follow, or late; with undefined once it follows. */
  behind(why: string | undefined): void;
  /** Called once it is over: what is watched is to be read anew, after so many milliseconds. */
  ended(afterMs: number): void;
}

/** How long is waited before what changed while nobody watched is read anew; and what cannot be watched at all. */
const [anewMs, unwatchedMs] = [1000, 30_000];

/** How long a request reads what has come, where WebSockets are refused: a browser opens only six connections. */
const readMs = 1000;

const position = 'resourceVersion';

/** Calls back with each line of a response. */
const eachLine = async ({body}: Response, line: (text: string) => void): Promise<void> => {
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split('\n');
    rest = lines.pop()!;
    lines.forEach(line);
  }
};

/** Watches a collection from a position, until the signal aborts. */
export const watch = <T>(
  path: string,
  query: Readonly<Record<string, string>>,
  from: string,
  accept: string,
  signal: AbortSignal,
  {event, behind, ended}: WatchListener<T>,
): void => {
  if (signal.aborted) return;
  const parameters = new URLSearchParams({...query, [position]: from, watch: '1', allowWatchBookmarks: '1', 'console-accept': accept});
  const over = new AbortController();
  const end = (afterMs: number): void => {
    if (over.signal.aborted) return;
    over.abort();
    ended(afterMs);
  };
  signal.addEventListener('abort', () => over.abort(), {once: true, signal: over.signal});
  const message = (text: string): void => {
    if (over.signal.aborted) return;
    const {type, object} = JSON.parse(text) as WatchEvent;
    if (type === 'ERROR') {
      if ((object as {code?: number}).code === 410) end(anewMs);
      return;
    }
    const after = event(type, object as T);
    if (after !== undefined) parameters.set(position, after);
  };
  const read = async (): Promise<void> => {
    const enough = new AbortController();
    const stop = () => enough.abort();
    over.signal.addEventListener('abort', stop, {once: true});
    try {
      const response = await respond(`${path}?${parameters}`, {accept, signal: enough.signal});
      setTimeout(stop, readMs);
      await eachLine(response, message);
    } catch (error) {
      if (!enough.signal.aborted) throw error;
    } finally {
      over.signal.removeEventListener('abort', stop);
    }
  };
  follow(over.signal, {
    path: () => `${path}?${parameters}`,
    message,
    behind,
    async ask() {
      try {
        await read();
      } catch (error) {
        if (mayPass(error) || over.signal.aborted) throw error;
        const isGone = error instanceof ApiError && error.status === 410;
        if (!isGone) behind(`This is read anew every ${unwatchedMs / 1000} s, since it cannot be watched: ${messageOf(error)}`);
        end(isGone ? anewMs : unwatchedMs);
      }
    },
  });
};
