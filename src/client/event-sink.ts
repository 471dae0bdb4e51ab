import type {StreamSink} from '#src/transport/dispatched.js';
import type {WatchListener} from './caller.js';
import {Frames} from './frames.js';
import {Lines} from './lines.js';

interface WireEvent {
  readonly type: string;
  readonly object: unknown;
}

/** Reads the frames of a stream of that content type; undefined for one that comes in lines. */
export type FrameReader = (contentType: string) => ((frame: Buffer) => WireEvent) | undefined;

/** Tells a listener of the events whose bytes come in, one a line or frame; nothing once the signal aborts. */
export const eventSink = (listener: WatchListener, signal: AbortSignal, framesOf?: FrameReader): StreamSink => {
  let isOver = false;
  const end = (error?: unknown) => {
    if (isOver) return;
    isOver = true;
    listener.end(error);
  };
  const tell = (event: WireEvent | undefined) => {
    if (isOver || signal.aborted) return;
    if (event) listener.event(event.type, event.object);
    else end(new Error('the watch was cut off within an event'));
  };
  let parts: Frames | Lines = new Lines(line => tell(eventOf(line)));
  return {
    begin({header}) {
      const read = framesOf?.(header('content-type') ?? '');
      if (read) parts = new Frames(frame => tell(read(frame)));
    },
    data(chunk) {
      try {
        parts.push(chunk);
      } catch (error) {
        end(error);
      }
    },
    end: error => end(error ?? (parts.isPartial ? new Error('the watch was cut off within an event') : undefined)),
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
