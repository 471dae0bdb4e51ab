import type {StreamSink} from '#src/transport/dispatch-request.js';
import type {WatchListener} from './caller.js';
import type {EventCutter} from './content.js';
import {Lines} from './lines.js';

interface WireEvent {
  readonly type: string;
  readonly object: unknown;
}

/** Chooses how a stream of a content type is cut into events; undefined for one that comes in lines. */
export type CutterOf = (contentType: string, each: (event: unknown) => void) => EventCutter | undefined;

/** Tells a listener of the events whose bytes come in, one a line unless cut otherwise; nothing once the signal aborts. */
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
    else end(new Error('the watch was cut off within an event'));
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
