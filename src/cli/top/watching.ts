// Reads a cluster again and again, and shows each reading: on a screen with keys, or line by line.

import {sleep, type Clock} from '#src/base/clock.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {failureOf, readCluster, readMetrics, type Part, type ReadingOptions} from './reading.js';
import type {RequestCounts} from '#src/observe/request-rates.js';
import {linesOf, nextOrder} from './screen.js';
import {Terminal, type Display, type Keyboard} from './terminal.js';
import {ratesOf, type View} from './view.js';

/** A cluster, and how it is watched. */
export interface Watching {
  readonly client: Client;
  readonly server: string;
  readonly namespace: string | undefined;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
}

const optionsOf = ({namespace, clock, stopping}: Watching): ReadingOptions => ({
  namespace,
  signal: stopping,
  monotonic: () => clock.monotonic(),
});

const viewAfter = async (watching: Watching, before: Part<RequestCounts> | undefined): Promise<View> => {
  const reading = await readCluster(watching.client, optionsOf(watching));
  const {server, clock} = watching;
  return {server, now: clock.now(), reading, rates: ratesOf(reading.requests, before), sort: 'queue', isPaused: false};
};

/** Resolves after an interval, or when the command is stopped. */
const pause = ({clock, intervalMs, stopping}: Watching): Promise<void> => sleep(clock, intervalMs, stopping).catch(() => undefined);

/**
 * Yields a view after each interval until the command is stopped. Throws if the server is not reached for the first
 * one.
 */
export async function* views(watching: Watching): AsyncGenerator<View, void> {
  let before = (await readMetrics(watching.client, optionsOf(watching))).requests;
  for (let isFirst = true; ; isFirst = false) {
    await pause(watching);
    if (watching.stopping.aborted) return;
    const view = await viewAfter(watching, before);
    if (watching.stopping.aborted) return;
    const failure = isFirst ? failureOf(view.reading) : undefined;
    if (failure !== undefined) throw failure;
    yield view;
    before = view.reading.requests;
  }
}

/** Shows the cluster on a screen until `q` is pressed or the command is stopped. */
export const watchOnScreen = async (
  watching: Watching,
  {keyboard, display, hasColour}: {readonly keyboard: Keyboard; readonly display: Display; readonly hasColour: boolean},
): Promise<void> => {
  let view = await viewAfter(watching, undefined);
  const failure = failureOf(view.reading);
  if (failure !== undefined) throw failure;
  const quit = new AbortController();
  using stop = firstOf(watching.stopping, quit.signal);
  const stoppable = {...watching, stopping: stop.signal};
  const draw = (): void => terminal.draw(linesOf(view, terminal.size));
  const key = (pressed: string): void => {
    if (pressed === 'q' || pressed === '\x03') return quit.abort();
    if (pressed === 'p') view = {...view, isPaused: !view.isPaused};
    else if (pressed === 's') view = {...view, sort: nextOrder(view.sort)};
    else return;
    draw();
  };
  using terminal = new Terminal({keyboard, display, hasColour, key, resized: draw});
  // What ends the process without unwinding restores the terminal too.
  const restore = (): void => terminal[Symbol.dispose]();
  process.once('exit', restore);
  try {
    while (!stop.signal.aborted) {
      draw();
      await pause(stoppable);
      if (view.isPaused) continue;
      const next = await viewAfter(stoppable, view.reading.requests);
      if (stop.signal.aborted) return;
      if (!view.isPaused) view = {...next, sort: view.sort};
    }
  } finally {
    process.off('exit', restore);
  }
};
