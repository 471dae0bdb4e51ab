import type {StreamSink} from '#src/transport/dispatched.js';
import type {WatchListener} from './caller.js';
import {Lines} from './lines.js';

interface WireEvent {
  readonly type: string;
  readonly object: unknown;
}

/** Tells a listener of the events whose bytes come in, one a line; nothing once the signal aborts. */
export const eventSink = (listener: WatchListener, signal: AbortSignal): StreamSink => {
  let isOver = false;
  const end = (error?: unknown) => {
    if (isOver) return;
    isOver = true;
    listener.end(error);
  };
  const lines = new Lines(line => {
    if (isOver || signal.aborted) return;
    const event = eventOf(line);
    if (event) listener.event(event.type, event.object);
    else end(new Error('the watch was cut off within an event'));
  });
  return {
    data: chunk => lines.push(chunk),
    end: error => end(error ?? (lines.isPartial ? new Error('the watch was cut off within an event') : undefined)),
  };
};

const eventOf = (line: string): WireEvent | undefined => {
  try {
    const event = JSON.parse(line) as WireEvent | null;
    return typeof event?.type === 'string' ? event : undefined;
  } catch {
    return undefined;
  }
};
