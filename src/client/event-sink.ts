import type {StreamSink} from '#src/transport/dispatch-request.js';
import type {WatchListener} from './caller.js';
import type {EventCutter} from './content.js';
import {UnreadableEvent} from './errors.js';
import {Lines} from './lines.js';

interface WireEvent {
  readonly type: string;
  readonly object: unknown;
}

/** Returns a splitter for streams of a content type; undefined for line-delimited ones. */
export type CutterOf = (contentType: string, each: (event: unknown) => void) => EventCutter | undefined;

/**
 * Parses received bytes into events, one per line unless split otherwise, and passes them to a listener until the
 * signal aborts.
 */
export const eventSink = (listener: WatchListener, signal: AbortSignal, cutterOf?: CutterOf): StreamSink => {
  let isOver = false;
  const end = (error?: unknown) => {
    if (isOver) return;
    isOver = true;
    listener.end(error);
  };
  const emit = (event: unknown) => {
    if (isOver || signal.aborted) return;
    if (isEvent(event)) listener.event(event.type, event.object);
    else end(new UnreadableEvent());
  };
  let cutter: EventCutter = new Lines(line => emit(parsed(line)));
  return {
    begin({header}) {
      cutter = cutterOf?.(header('content-type') ?? '', emit) ?? cutter;
    },
    data(chunk) {
      try {
        cutter.push(chunk);
      } catch (error) {
        end(error);
      }
    },
    end: error => end(error ?? (cutter.isPartial ? new Error('the watch was cut off within an event') : undefined)),
  };
};

const isEvent = (value: unknown): value is WireEvent => typeof (value as WireEvent | null)?.type === 'string';

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
};
