import {hostname} from 'node:os';
import {systemRandom as random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {gateOf} from '#src/options/parsed.js';
import {flagValues} from '#src/options/flag-values.js';
import {schedulerFlags} from '#src/options/scheduler.js';
import {electionOf} from '#src/plane/component/election.js';
import {addBuildMetrics} from '#src/plane/component/metrics.js';
import {openPort} from '#src/plane/component/port.js';
import {schedulerConfiguration, schedulerManager, schedulerSettings} from '#src/plane/scheduler.js';
import {openConnection} from './connection.js';
import type {Invocation} from './program.js';

type Given = Invocation<(typeof schedulerFlags)['rows']>;

const program = 'plat-scheduler';

/** `plat-scheduler`: gives pods to nodes, while it leads, until it is asked to stop. The answer is its exit code. */
export const runScheduler = async ({parsed, log, clock, unhandled, version, verbosity, stopping, ready}: Given): Promise<number> => {
  const {options, set} = parsed;
  schedulerSettings(options); // What is wrong with the file is told before anybody is asked.
  log.info({version: version.gitVersion}, 'starting');
  for (const flag of set) log.v(1).info({flag}, 'flag is set');

  await using undo = new Undo();
  const metrics = new MetricsRegistry({process: true, disabled: options.disabledMetrics});
  unhandled.countIn(metrics);
  const gate = gateOf(parsed);
  const connection = await openConnection({program, options, version, clock, meter: metrics, log, env: process.env, signal: stopping, gate});
  undo.defer(() => connection[Symbol.asyncDispose]());
  const ending = new AbortController();
  undo.defer(() => ending.abort());
  const checks = new HealthChecks(log);
  const {naming} = connection;
  addBuildMetrics(metrics, parsed, naming);
  const shared = {options, naming, clock, random, log, signal: ending.signal};
  const client = (part: string, timeoutMs?: number) => connection.client(part, timeoutMs === undefined ? {} : {timeoutMs});
  const election = electionOf({...shared, program, set, client});
  const manager = schedulerManager({...shared, metrics, client, election, checks, host: hostname(), gates: {enabled: gate}, release: parsed.versions.emulated});
  if (options.securePort !== 0) {
    const delegate = (file: string, flag: string) => (file ? connection.delegate(file, flag) : undefined);
    const port = await openPort({
      ...shared,
      program,
      component: naming.component('scheduler'),
      version,
      flags: () => flagValues(schedulerFlags, options),
      configuration: () => schedulerConfiguration(options, naming),
      gate,
      checks,
      metrics,
      debugPages: new Map(),
      verbosity,
      authentication: await delegate(options.authenticationKubeconfig, '--authentication-kubeconfig'),
      authorization: await delegate(options.authorizationKubeconfig, '--authorization-kubeconfig'),
    });
    undo.defer(() => port.close());
    log.info({address: port.address, port: port.port}, 'serving');
  }
  manager.ready.then(
    () => ready(`scheduling against ${connection.server} (${naming.name} naming)`),
    () => {},
  );
  const end = await manager.run(stopping);
  if (end === 'lost') log.error('the lead was lost');
  return end === 'stopped' ? 0 : 1;
};
