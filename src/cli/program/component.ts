import {hostname} from 'node:os';
import {systemRandom as random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import type {OptionsOf} from '#src/options/flag.js';
import {gateOf} from '#src/options/parsed-options.js';
import type {Component, ComponentOptions} from '#src/plane/component/component.js';
import {addBuildMetrics, openMetrics} from '#src/plane/component/metrics.js';
import {runComponent, type RunningComponent} from '#src/plane/component/run.js';
import {openConnection, type ConnectionParts, type ServerConnection} from './connection.js';
import type {Invocation} from '#src/program/program.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {readServerMaterial} from '#src/transport/tls-material.js';

/** The parts of a program besides its component. */
export interface ComponentProgram {
  /** Returns the text of the line that reports that the component works. */
  describe(component: RunningComponent, connection: ServerConnection): string;
  /** Called once before the component runs. */
  begin?(connection: ServerConnection): Promise<void>;
}

/**
 * Runs a component against the API server of its flags, with leader election, until it is stopped. Returns the exit
 * code.
 */
export const runComponentProgram = async <R>(
  component: Component<R>,
  invocation: Invocation<R>,
  {describe, begin}: ComponentProgram,
): Promise<number> => {
  const {parsed, log, clock, unhandled, version, verbosity, stopping, ready} = invocation;
  const options = parsed.options as OptionsOf<R> & ComponentOptions & ConnectionParts['options'];
  // What cannot be used is refused in one line, before anything is logged and the server is called.
  component.check(options);
  const settings = await loadSettings({file: options.platconfig, master: options.master, env: process.env});
  await readServerMaterial(settings);
  log.info({version: version.gitVersion}, 'starting');
  for (const flag of parsed.set) log.v(1).info({flag}, 'flag is set');

  await using undo = new Undo();
  const metrics = await openMetrics(options);
  unhandled.countIn(metrics);
  const connection = await openConnection({
    program: component.program,
    options,
    version,
    clock,
    meter: metrics,
    log,
    env: process.env,
    settings,
    signal: stopping,
    gate: gateOf(parsed),
    host: hostname(),
  });
  undo.defer(() => connection[Symbol.asyncDispose]());
  addBuildMetrics(metrics, parsed, connection.naming);
  const running = await runComponent(
    component,
    parsed,
    connection,
    {clock, random, log, metrics, verbosity, stopping, begin: async () => begin?.(connection)},
    undo,
  );
  running.manager.ready.then(
    () => ready(`${describe(running, connection)} against ${connection.server} (${connection.naming.name} naming)`),
    () => {},
  );
  const end = await running.ended;
  if (end === 'lost') log.error('the lead was lost');
  return end === 'stopped' ? 0 : 1;
};
