import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Manager} from '#src/runtime/manager.js';
import {schedulerController} from '#src/scheduler/controller.js';
import {defaultProfile, type Profile} from '#src/scheduler/profile.js';
import {defaultSettings} from '#src/scheduler/settings.js';
import {FaultyClient} from '#test/runtime/faulty-client.js';
import type {aCluster} from './cluster.js';

/** Gates of kinds that are not served: rules for taints of devices, and workloads. */
const ofKindsNotServed = ['DRADeviceTaintRules', 'GangScheduling'];

interface SecondScheduler {
  /** By scheduler name. */
  readonly profiles?: ReadonlyMap<string, Profile>;
  /** The gates that are off. */
  readonly off?: readonly string[];
}

/**
 * A separate scheduler for pods with the scheduler name `mine`, with its metrics and requests that can be made to fail.
 */
export const aSecond = async (
  {plane, clock}: Awaited<ReturnType<typeof aCluster>>,
  {profiles = new Map([['mine', defaultProfile]]), off = []}: SecondScheduler = {},
) => {
  const meter = new MetricsRegistry();
  const client = new FaultyClient(plane.client());
  const manager = new Manager({
    clock,
    random: seededRandom(1),
    log: noLog,
    meter,
    naming: plane.naming,
    options: {},
    gates: {enabled: name => ![...ofKindsNotServed, ...off].includes(name)},
    name: 'second',
    controllers: [schedulerController({...defaultSettings, profiles})],
    client: plane.client(),
    clientFor: () => client,
    checks: new HealthChecks(noLog),
    startIntervalMs: 0,
    shutdownTimeoutMs: 0,
    minResyncMs: 0,
    freeze: true,
  });
  const stopping = new AbortController();
  const run = manager.run(stopping.signal);
  await manager.ready;
  return {
    meter,
    client,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await run;
    },
  };
};
