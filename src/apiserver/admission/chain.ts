// Runs the plugins of one phase in order. The plugins of a request are known by its operation, resource and subresource: those that do not handle it are not
// called. The write pipeline of the registry decides when each phase runs.

import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import type {AdmissionAttributes, AdmissionPlugin, Phase} from './admission.js';
import {admissionMetrics, type AdmissionMetrics, type Durations} from './chain-metrics.js';
import {allOperations, isHandled, type Operation, type Target} from './handles.js';

/** What each verbosity adds: refusals, and the duration of each plugin. */
const [refusals, durations] = [4, 5];

/** A plugin of a phase, and the series of its durations. */
interface Step {
  readonly plugin: AdmissionPlugin;
  /** Whether the plugin handles the resource. One that handles only the operation is counted and not called, as the original counts it. */
  readonly isCalled: boolean;
  readonly durations: Durations | undefined;
}

/** The steps of the requests with one operation at one resource or subresource. */
interface Route {
  readonly steps: Readonly<Record<Phase, readonly Step[]>>;
  readonly durations: Readonly<Record<Phase, Durations>>;
}

export interface AdmissionChainParts {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly meter: Meter;
  readonly log: Log;
}

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #metrics: AdmissionMetrics;
  readonly #log: Log;
  /** The groups of the resources that plugins name, by resource. All others have one route for each operation. */
  readonly #named = new Map<string, ReadonlySet<string>>();
  readonly #others: Readonly<Record<Operation, Route>>;
  /** The routes of the named resources, by operation, group, resource and subresource. */
  readonly #routes = new Map<string, Route>();

  constructor(plugins: readonly AdmissionPlugin[], {clock, meter, log}: AdmissionChainParts) {
    this.#plugins = plugins;
    this.#clock = clock;
    this.#metrics = admissionMetrics(meter);
    this.#log = log.child({component: 'admission'});
    for (const {group, resource} of plugins.flatMap(({handles}) => handles?.targets ?? []))
      this.#named.set(resource, new Set([...(this.#named.get(resource) ?? []), group]));
    const other: Target = {group: '', resource: '', subresource: ''};
    this.#others = Object.fromEntries(allOperations.map(operation => [operation, this.#route(operation, other)])) as Record<
      Operation,
      Route
    >;
  }

  /** Runs one phase. Rejects with the refusal of a plugin; later ones are not called then. */
  async run(phase: Phase, attributes: AdmissionAttributes): Promise<void> {
    const route = this.#routeOf(attributes);
    const startedAt = this.#clock.monotonic();
    let isAccepted = false;
    try {
      if (await this.#runSteps(route.steps[phase], phase, attributes)) await this.#runSteps(route.steps[phase], phase, attributes);
      isAccepted = true;
    } finally {
      const {accepted, refused} = route.durations[phase];
      (isAccepted ? accepted : refused).observe((this.#clock.monotonic() - startedAt) / 1000);
    }
  }

  /** Returns whether the plugins are to run once more. Awaits only promises: an await costs as much as most plugins do. */
  async #runSteps(steps: readonly Step[], phase: Phase, attributes: AdmissionAttributes): Promise<boolean> {
    const isLogged = this.#log.v(refusals) !== noLog;
    let isRepeated = false;
    let since = this.#clock.monotonic();
    for (const {plugin, isCalled, durations} of steps) {
      if (!isCalled) {
        durations?.accepted.observe(0);
        continue;
      }
      try {
        const result = plugin[phase]!(attributes);
        if ((result instanceof Promise ? await result : result) === 'again') isRepeated = true;
      } catch (error) {
        const ms = this.#clock.monotonic() - since;
        durations?.refused.observe(ms / 1000);
        if (isLogged) this.#logRefusal(plugin, phase, attributes, ms, error);
        throw error;
      }
      const now = this.#clock.monotonic();
      durations?.accepted.observe((now - since) / 1000);
      if (isLogged) this.#logDuration(plugin, phase, attributes, now - since);
      since = now;
    }
    return isRepeated;
  }

  #logRefusal({name}: AdmissionPlugin, phase: Phase, attributes: AdmissionAttributes, ms: number, error: unknown): void {
    const fields = {...fieldsOf(name, phase, attributes), duration: `${ms.toFixed(3)}ms`, reason: messageOf(error)};
    this.#log.v(refusals).info(fields, 'request is refused by admission');
  }

  #logDuration({name}: AdmissionPlugin, phase: Phase, attributes: AdmissionAttributes, ms: number): void {
    this.#log.v(durations).info({...fieldsOf(name, phase, attributes), duration: `${ms.toFixed(3)}ms`}, 'admission plugin has finished');
  }

  #routeOf({operation, group, resource, subresource}: AdmissionAttributes): Route {
    if (!this.#named.get(resource)?.has(group)) return this.#others[operation];
    const key = `${operation}/${group}/${resource}/${subresource}`;
    let route = this.#routes.get(key);
    if (!route) this.#routes.set(key, (route = this.#route(operation, {group, resource, subresource})));
    return route;
  }

  #route(operation: Operation, target: Target): Route {
    const stepsOf = (phase: Phase): readonly Step[] =>
      this.#plugins.flatMap(plugin => {
        const {name, handles, unmeasured} = plugin;
        if (!plugin[phase] || (handles && !handles.operations.includes(operation))) return [];
        const isCalled = !handles || isHandled(handles, target);
        return isCalled || !unmeasured
          ? [{plugin, isCalled, durations: unmeasured ? undefined : this.#metrics.ofPlugin(name, phase, operation)}]
          : [];
      });
    return {
      steps: {admit: stepsOf('admit'), validate: stepsOf('validate')},
      durations: {admit: this.#metrics.ofPhase('admit', operation), validate: this.#metrics.ofPhase('validate', operation)},
    };
  }
}

const fieldsOf = (plugin: string, phase: Phase, {operation, resource, subresource, namespace, name}: AdmissionAttributes) => ({
  plugin,
  phase,
  operation,
  resource: subresource ? `${resource}/${subresource}` : resource,
  namespace,
  name,
});
