import type {Lister} from '#informers/lister.js';
import type {SharedInformer} from '#informers/shared.js';
import {resolveSelection, type Source} from '#informers/selection.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Client} from '#src/client/client.js';
import type {KubeObject} from '#src/api/types.js';
import {boundClient} from './bound-client.js';
import {serviceAccountOf, type Controller, type ControllerContext} from './controller.js';
import {Recorder} from '#src/runtime/events/events.js';
import type {RuntimeEnvironment} from './environment.js';
import {writerOf} from './writer.js';

// What a controller gets when it is built: informers by selection, a client under its own name, the clock, events,
// options and metrics.

/**
 * The informers that a controller reads, by selection. Closed once the controller is built: later requests for
 * undeclared sources throw.
 */
export class Sources {
  readonly #environment: RuntimeEnvironment;
  readonly #controller: string;
  readonly #informers = new Map<string, SharedInformer>();
  readonly #bySource = new WeakMap<Source, SharedInformer>();
  #closed = false;

  constructor(environment: RuntimeEnvironment, controller: string) {
    this.#environment = environment;
    this.#controller = controller;
  }

  informer<T extends KubeObject>(source: Source<T>): SharedInformer<T> {
    const of = source as unknown as Source;
    let informer = this.#bySource.get(of);
    if (!informer) this.#bySource.set(of, (informer = this.#informerOf(of)));
    return informer as unknown as SharedInformer<T>;
  }

  lister<T extends KubeObject>(source: Source<T>): Lister<T> {
    return this.informer(source).lister;
  }

  close(): void {
    this.#closed = true;
  }

  #informerOf(source: Source): SharedInformer {
    const {id, kind} = resolveSelection(source, this.#environment.naming);
    const known = this.#informers.get(id);
    if (known) return known;
    if (this.#closed) throw new Error(`${this.#controller} reads ${kind.plural} without having declared it`);
    const informer = this.#environment.informers.informer(source);
    this.#informers.set(id, informer);
    return informer;
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map(informer => informer.whenSynced(signal)));
  }
}

/**
 * Signals of a controller's shutdown: `stopping` aborts when it is to take no more work, `calls` when pending API calls
 * are cancelled.
 */
export interface ShutdownSignals {
  readonly stopping: AbortSignal;
  readonly calls: AbortSignal;
}

/** Returns the client of the controller's own identity; its calls end with `shutdown.calls`. */
export const clientOf = async (environment: RuntimeEnvironment, controller: Controller, shutdown: ShutdownSignals): Promise<Client> => {
  const {name, clientLimits} = controller;
  const {qpsFactor = 1, burstFactor = 1} = clientLimits ?? {};
  const serviceAccount = serviceAccountOf(controller, environment.naming);
  return boundClient(await environment.clientFor({controller: name, serviceAccount, qpsFactor, burstFactor}), shutdown.calls);
};

/** Builds the controller's context, except for its queue and what it registers itself. */
export const contextOf = (
  environment: RuntimeEnvironment,
  {name, eventSource = name}: Controller,
  client: Client,
  sources: Sources,
  shutdown: ShutdownSignals,
): Omit<ControllerContext, 'healthCheck' | 'debugPages'> => {
  const {
    clock,
    random,
    meter,
    recorder,
    naming,
    options,
    gates,
    informers,
    host,
    files = systemFiles,
    serverAuthority = '',
    cloud,
  } = environment;
  const log = environment.log.child({component: name, controller: name});
  return {
    name,
    lister: source => sources.lister(source),
    listen(source, listener, listed) {
      const listening = sources.informer(source).listen(listener, listed);
      shutdown.stopping.addEventListener('abort', () => listening[Symbol.dispose](), {once: true});
    },
    writer: kind => writerOf(client, kind),
    client,
    informers,
    clock,
    random,
    files,
    log,
    meter,
    recorder,
    naming,
    options,
    gates,
    serverAuthority,
    cloud,
    events: new Recorder({client, clock, random, log, component: eventSource, signal: shutdown.calls, ...(host ? {host} : {})}),
    signal: shutdown.stopping,
  };
};
