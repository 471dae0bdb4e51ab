import type {Exchange} from '#src/api/exchange.js';
import type {Naming} from '#src/api/naming.js';
import {wellKnown} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {inProcessClient} from '#src/client/in-process.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Manager} from '#src/runtime/manager.js';
import {schedulerController} from '#src/scheduler/controller.js';

export interface InProcessScheduler {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  gate(name: string): boolean;
  readonly exchange: Exchange;
  readonly freeze: boolean;
}

/** A scheduler beside its API server, under its own user and without client limits. */
export const inProcessScheduler = ({exchange, naming, gate, ...shared}: InProcessScheduler): Manager => {
  const agent = naming.component('scheduler');
  const user = {name: naming.componentUser('scheduler'), groups: [wellKnown.authenticated]};
  const client = (part: string) => inProcessClient(exchange, {naming, user, userAgent: `${agent}/${part}`});
  return new Manager({
    ...shared,
    meter: new MetricsRegistry(),
    naming,
    name: agent,
    controllers: [schedulerController],
    options: {},
    gates: {enabled: gate},
    client: client('shared-informers'),
    clientFor: () => client('scheduler'),
    checks: new HealthChecks(shared.log),
    startIntervalMs: 0,
    shutdownTimeoutMs: 10_000,
    minResyncMs: 0,
  });
};
