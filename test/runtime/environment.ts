import type {ExecutionContext} from 'ava';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {Controller} from '#src/runtime/controller.js';
import {Manager, type RunOutcome, type ManagerOptions} from '#src/runtime/manager.js';
import {startServer, type TestApiServer} from '#test/fixtures/server.js';
import {FaultyClient} from './faulty-client.js';

/** A log that remembers. */
export const recordingLog = () => {
  const lines: string[] = [];
  const fields: LogFields[] = [];
  const record = (level: string) => (first: string | LogFields, message?: string) => {
    lines.push(`${level} ${message ?? String(first)}`);
    fields.push(typeof first === 'string' ? {} : first);
  };
  const log: Log = {
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
    v: level => (level > 2 ? noLog : log),
    child: () => log,
  };
  return {lines, fields, log};
};

/** Controllers under a manager over a real server, on virtual time. */
export const startManager = (
  t: ExecutionContext,
  controllers: readonly Controller[],
  options: Partial<ManagerOptions> = {},
  {clock, clientOf}: Pick<TestApiServer, 'clock' | 'clientOf'> = startServer(),
) => {
  const client = clientOf();
  const own = new FaultyClient(clientOf('system:serviceaccount:plat-system:own'));
  const meter = new MetricsRegistry();
  const {log, lines, fields} = recordingLog();
  const checks = new HealthChecks(noLog);
  const identities: string[] = [];
  const stop = new AbortController();
  const manager = new Manager({
    name: 'plat-controller-manager',
    controllers,
    clock,
    random: seededRandom(5),
    log,
    meter,
    checks,
    client,
    naming: client.naming,
    options: {},
    gates: {enabled: () => true},
    startIntervalMs: 0,
    shutdownTimeoutMs: 10_000,
    minResyncMs: 0,
    freeze: true,
    clientFor: identity => {
      identities.push(`${identity.controller} as ${identity.serviceAccount} ${identity.qpsFactor}/${identity.burstFactor}`);
      return own;
    },
    ...options,
  });
  const end: {ending?: RunOutcome; error?: unknown; at?: number} = {};
  const start = async () => {
    void manager.run(stop.signal).then(
      ending => Object.assign(end, {ending, at: clock.monotonic()}),
      error => Object.assign(end, {error, at: clock.monotonic()}),
    );
    await clock.drain();
  };
  t.teardown(async () => {
    stop.abort();
    await clock.advance(60_000);
  });
  const create = async <T extends KubeObject>(kind: Kind<T>, object: T) => {
    const created = await client.resource(kind).create(object);
    await clock.drain();
    return created;
  };
  return {
    clock,
    client,
    own,
    meter,
    log,
    lines,
    fields,
    checks,
    identities,
    manager,
    end,
    start,
    create,
    stop: () => stop.abort(new Error('stopped by the test')),
  };
};
