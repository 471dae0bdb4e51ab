import type {Naming} from '#src/api/naming.js';
import {serviceAccountUser, wellKnown, type UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {HealthChecks} from '#src/observe/health.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import type {Controller} from '#src/runtime/controller.js';
import {chooseControllers} from '#src/runtime/choice.js';
import {Manager} from '#src/runtime/manager.js';

export interface InProcessControllers {
  readonly options: ControllerManagerOptions;
  readonly controllers: readonly Controller[];
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  gate(name: string): boolean;
  clientAs(user: UserInfo, userAgent: string): Client;
  readonly freeze: boolean;
}

/** The manager's own user. */
const managerUser = (naming: Naming): UserInfo => ({name: naming.componentUser('controller-manager'), groups: [wellKnown.authenticated]});

/** A controller manager beside its API server: each controller acts as its own service account, without token, limits or election. */
export const inProcessManager = ({options, controllers, naming, gate, clientAs, ...shared}: InProcessControllers): Manager => {
  const agent = naming.component('controller-manager');
  const {chosen, missing} = chooseControllers(controllers, options.controllers);
  if (missing.length > 0) shared.log.v(1).info({controllers: missing.join(',')}, 'controllers that are not part of this build are passed over');
  return new Manager({
    ...shared,
    naming,
    name: agent,
    controllers: chosen,
    options,
    gates: {enabled: gate},
    client: clientAs(managerUser(naming), `${agent}/shared-informers`),
    clientFor: ({controller, serviceAccount}) => clientAs(serviceAccountUser(naming.systemNamespace, serviceAccount), `${agent}/${controller}`),
    checks: new HealthChecks(shared.log),
    startIntervalMs: options.controllerStartInterval,
    shutdownTimeoutMs: options.controllerShutdownTimeout,
    minResyncMs: options.minResyncPeriod,
  });
};
