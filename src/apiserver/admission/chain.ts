// Runs the plugins of one phase in order. The plugins of a request are known by its operation, resource and
// subresource: those that do not handle it are not called. The write pipeline of the registry decides when each phase
// runs.

import {andThen, firstResult, isPending, type Eventually} from '#src/base/eventually.js';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import type {AdmissionAttributes, AdmissionPlugin, DecisionNotes, Phase} from './admission.js';
import {changedFields, fieldPath, heldBy, type FieldPath, type Held} from './changed-fields.js';
import {admissionMetrics, type AdmissionMetrics, type Durations} from './chain-metrics.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import {reportDecision} from './recorded-decisions.js';
import {isHandled, type Operation, type Target} from './handles.js';

/** What each verbosity adds: refusals, and the duration of each plugin. */
const [refusals, durations] = [4, 5];

/** A plugin of a phase, and the series of its durations. */
interface Step {
  readonly name: string;
  /**
   * Calls the plugin; undefined if it handles only the operation and not the resource. Such a plugin is counted and not
   * called, as the original counts it.
   */
  readonly call: ((attributes: AdmissionAttributes) => ReturnType<NonNullable<AdmissionPlugin[Phase]>>) | undefined;
  readonly durations: Durations | undefined;
  /** What the plugin works by, if objects configure that. */
  readonly rules: AdmissionPlugin['rules'];
  /** What the plugin may change, where that is recorded. */
  readonly changes: readonly FieldPath[] | undefined;
}

/** The steps of one phase, and the series of its durations. */
interface PhaseSteps {
  readonly steps: readonly Step[];
  readonly durations: Durations;
}

/** What is done for the requests with one operation at one resource or subresource. */
type Route = Readonly<Record<Phase, PhaseSteps>>;

export interface AdmissionChainParts {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly meter: Meter;
  readonly log: Log;
  /** Where decisions are reported; without it they are not. */
  readonly recorder?: FlightRecorder | undefined;
}

/** A resource that no plugin names. */
const unnamed: Target = {group: '', resource: '', subresource: ''};

export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #tools: Tools;
  readonly #metrics: AdmissionMetrics;
  /** The groups of the resources that plugins name, by resource. All others have one route for each operation. */
  readonly #named = new Map<string, ReadonlySet<string>>();
  readonly #others = new Map<Operation, Route>();
  /** The routes of the named resources, by operation, group, resource and subresource. */
  readonly #routes = new Map<string, Route>();

  constructor(plugins: readonly AdmissionPlugin[], {clock, meter, log, recorder}: AdmissionChainParts) {
    this.#plugins = plugins;
    this.#metrics = admissionMetrics(meter);
    this.#tools = {clock, log: log.child({component: 'admission'}), recorder};
    for (const {group, resource} of plugins.flatMap(({handles}) => handles?.targets ?? []))
      this.#named.set(resource, new Set([...(this.#named.get(resource) ?? []), group]));
  }

  /**
   * Runs one phase; returns a promise only where a plugin does, or refuses the request. Later plugins are not called
   * then.
   */
  run(phase: Phase, attributes: AdmissionAttributes): Eventually<void> {
    try {
      return new PhaseRun(phase, this.#routeOf(attributes)[phase], attributes, this.#tools).proceed();
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  #routeOf({operation, group, resource, subresource}: AdmissionAttributes): Route {
    if (!this.#named.get(resource)?.has(group)) return this.#otherRoute(operation);
    const key = `${operation}/${group}/${resource}/${subresource}`;
    let route = this.#routes.get(key);
    if (!route) this.#routes.set(key, (route = this.#route(operation, {group, resource, subresource})));
    return route;
  }

  #otherRoute(operation: Operation): Route {
    let route = this.#others.get(operation);
    if (!route) this.#others.set(operation, (route = this.#route(operation, unnamed)));
    return route;
  }

  #route(operation: Operation, target: Target): Route {
    const stepsOf = (phase: Phase): PhaseSteps => ({
      steps: this.#plugins.flatMap((plugin): Step[] => {
        const {name, handles, unmeasured, rules} = plugin;
        if (!plugin[phase] || (handles && !handles.operations.includes(operation))) return [];
        const isCalled = !handles || isHandled(handles, target);
        if (!isCalled && unmeasured) return [];
        const call = isCalled ? plugin[phase]!.bind(plugin) : undefined;
        const changes = phase === 'admit' && this.#tools.recorder ? plugin.changes?.map(fieldPath) : undefined;
        return [{name, call, rules, changes, durations: unmeasured ? undefined : this.#metrics.ofPlugin(name, phase, operation)}];
      }),
      durations: this.#metrics.ofPhase(phase, operation),
    });
    return {admit: stepsOf('admit'), validate: stepsOf('validate')};
  }
}

/** What phases work with. */
type Tools = Pick<AdmissionChainParts, 'clock' | 'log' | 'recorder'>;

/** One phase of the admission of one request. It reports what its plugins decide. */
class PhaseRun implements DecisionNotes {
  readonly #phase: Phase;
  readonly #steps: readonly Step[];
  readonly #durations: Durations;
  readonly #attributes: AdmissionAttributes;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #log: Log;
  readonly #isLogged: boolean;
  readonly #startedAt: number;
  /** When the step began. */
  #since: number;
  /** Whether a plugin asked for a repetition, which there is only one of. */
  #isRepeated = false;
  #isRepetition = false;
  readonly #recorder: FlightRecorder | undefined;
  /** The step that is called. */
  #step: Step | undefined;
  /** What the fields held before that it may change. */
  #held: Held | undefined;

  constructor(phase: Phase, {steps, durations}: PhaseSteps, attributes: AdmissionAttributes, {clock, log, recorder}: Tools) {
    this.#phase = phase;
    this.#steps = steps;
    this.#durations = durations;
    this.#attributes = attributes;
    this.#clock = clock;
    this.#log = log;
    this.#isLogged = log.v(refusals) !== noLog;
    this.#recorder = recorder;
    if (recorder) attributes.notes = this;
    this.#startedAt = this.#since = clock.monotonic();
  }

  /**
   * Calls the plugins that are left, in the same turn where they take none. Throws or rejects with the refusal of one.
   */
  proceed(): Eventually<void> {
    const called = firstResult(this.#steps, this.#call);
    return andThen(called, () => {
      if (this.#isRepeated && !this.#isRepetition) {
        this.#isRepetition = true;
        return this.proceed();
      }
      this.#durations.accepted.observe((this.#since - this.#startedAt) / 1000);
      return undefined;
    });
  }

  noteDecision(decided: Parameters<DecisionNotes['noteDecision']>[0]): void {
    const place = {plugin: this.#step?.name ?? '', phase: this.#phase};
    if (this.#recorder) reportDecision(this.#recorder, this.#attributes, place, decided);
  }

  readonly #call = (step: Step): Eventually<undefined> => {
    const {call} = step;
    if (!call) {
      step.durations?.accepted.observe(0);
      return undefined;
    }
    if (step.rules?.none) return this.#passed(step, undefined);
    this.#step = step;
    this.#held = step.changes && heldBy(this.#attributes.object, step.changes);
    let outcome: ReturnType<typeof call>;
    try {
      outcome = call(this.#attributes);
    } catch (error) {
      return this.#refused(step, error);
    }
    if (!isPending(outcome)) return this.#passed(step, outcome);
    return outcome.then(
      passed => this.#passed(step, passed),
      (error: unknown) => this.#refused(step, error),
    );
  };

  #passed(step: Step, outcome: void | 'again'): undefined {
    if (outcome === 'again') this.#isRepeated = true;
    if (step.changes && this.#held) this.#noteChanges(step.changes, this.#held);
    const now = this.#clock.monotonic();
    step.durations?.accepted.observe((now - this.#since) / 1000);
    if (this.#isLogged) this.#logDuration(step, now - this.#since);
    this.#since = now;
    return undefined;
  }

  #noteChanges(paths: readonly FieldPath[], held: Held): void {
    this.#held = undefined;
    const fields = changedFields(this.#attributes.object, paths, held);
    if (fields.length > 0) this.noteDecision({decision: 'changed', fields});
  }

  #refused(step: Step, error: unknown): never {
    const now = this.#clock.monotonic();
    step.durations?.refused.observe((now - this.#since) / 1000);
    this.#durations.refused.observe((now - this.#startedAt) / 1000);
    this.#attributes.notes?.noteDecision({decision: 'refused', reason: messageOf(error)});
    if (this.#isLogged) this.#logRefusal(step, now - this.#since, error);
    throw error;
  }

  #logRefusal({name}: Step, ms: number, error: unknown): void {
    const fields = {...fieldsOf(name, this.#phase, this.#attributes), duration: `${ms.toFixed(3)}ms`, reason: messageOf(error)};
    this.#log.v(refusals).info(fields, 'request is refused by admission');
  }

  #logDuration({name}: Step, ms: number): void {
    const fields = {...fieldsOf(name, this.#phase, this.#attributes), duration: `${ms.toFixed(3)}ms`};
    this.#log.v(durations).info(fields, 'admission plugin has finished');
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
