import type {Undo} from '#src/base/undo.js';
import {aborted, firstOf} from '#src/base/signals.js';
import type {Parsed} from '#src/options/parse.js';
import type {RunOutcome} from '#src/runtime/manager.js';
import {createComponent, type Component, type ComponentEnvironment, type RunnableComponent} from './component.js';
import type {ComponentConnection} from './connection.js';

export interface ComponentRun extends Omit<ComponentEnvironment, 'signal'> {
  /** Ends the run. */
  readonly stopping: AbortSignal;
  /** Called once the port is open, before the run. */
  begin?(): Promise<void>;
}

/** A component that runs. */
export interface RunningComponent extends Pick<RunnableComponent, 'checks' | 'manager'> {
  /** Resolves or rejects when the run has ended. */
  readonly ended: Promise<RunOutcome>;
}

/**
 * Creates a component over a connection, in process or over HTTPS, opens its port and runs it, until it is stopped by
 * the signal or by `undo`. Throws as `createComponent` does.
 */
export const runComponent = async <R>(
  component: Component<R>,
  parsed: Parsed<R>,
  connection: ComponentConnection,
  {stopping, begin, ...environment}: ComponentRun,
  undo: Undo,
): Promise<RunningComponent> => {
  const ending = new AbortController();
  undo.defer(() => ending.abort(aborted)); // Components follow files from their creation on, also those that never run.
  const {checks, manager, openPort, run} = await createComponent(component, parsed, connection, {...environment, signal: ending.signal});
  const closePort = await openPort();
  if (closePort) undo.defer(closePort);
  await begin?.();
  const undone = new AbortController();
  const stop = firstOf(stopping, undone.signal);
  const ended = run(stop.signal);
  undo.defer(async () => {
    undone.abort(aborted);
    await ended.catch(() => {}); // Callers that await `ended` get the error.
    stop[Symbol.dispose]();
  });
  return {checks, manager, ended};
};
