import {InformerFactory} from '#informers/factory.js';
import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';

type FlowSchema = ObjectOf<typeof kinds.flowSchemas>;

const fieldManager = 'api-priority-and-fairness-config-consumer-v1';
const retryMs = 1_000;
/** At the start there is more urgent work. Later changes are reported at once, after those that come with them. */
const startMs = 200;
const settleMs = 5;

export interface FlowSchemaStatusParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The minimal duration of a watch. */
  readonly watchSeconds: number;
}

/** The condition of a schema about the level it refers to. */
const danglingCondition = ({spec}: Frozen<FlowSchema>, isThere: boolean) => {
  const level = JSON.stringify(spec?.priorityLevelConfiguration.name ?? '');
  const message = `This FlowSchema references the PriorityLevelConfiguration object named ${level} ${isThere ? 'and it exists' : 'but there is no such object'}`;
  return {type: 'Dangling', status: isThere ? 'False' : 'True', reason: isThere ? 'Found' : 'NotFound', message};
};

const isSaid = ({status}: Frozen<FlowSchema>, wanted: ReturnType<typeof danglingCondition>): boolean => {
  const current = status?.conditions?.find(({type}) => type === wanted.type);
  return current?.status === wanted.status && current.reason === wanted.reason && current.message === wanted.message;
};

/** Writes the condition of a schema, unless it says that already. */
class DanglingReport {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #levels: Lister<ObjectOf<typeof kinds.priorityLevelConfigurations>>;
  readonly #reported = new WeakMap<Frozen<FlowSchema>, string>();

  constructor(client: Client, clock: Clock, levels: Lister<ObjectOf<typeof kinds.priorityLevelConfigurations>>) {
    this.#client = client;
    this.#clock = clock;
    this.#levels = levels;
  }

  async report(schema: Frozen<FlowSchema>): Promise<void> {
    const wanted = danglingCondition(schema, this.#levels.get(schema.spec?.priorityLevelConfiguration.name ?? '') !== undefined);
    // The informer may not have received the report yet.
    if (isSaid(schema, wanted) || this.#reported.get(schema) === wanted.status) return;
    this.#reported.set(schema, wanted.status);
    const name = schema.metadata?.name ?? '';
    const {kind} = kinds.flowSchemas;
    const status = {conditions: [{...wanted, lastTransitionTime: wireTime(this.#clock.now())}]};
    const intent = {apiVersion: apiVersionOf(this.#client.naming, kinds.flowSchemas), kind, metadata: {name}, status};
    await this.#client
      .resource(kinds.flowSchemas)
      .patch(name, 'apply', intent, {subresource: 'status', fieldManager, force: true})
      .catch((error: unknown) => {
        if (isNotFound(error)) return;
        this.#reported.delete(schema);
        throw error;
      });
  }
}

/** Reports in the status of each flow schema whether its priority level exists (KEP-1040). */
export const reportDanglingSchemas = ({client, log, ...rest}: FlowSchemaStatusParts, signal: AbortSignal): void => {
  const {clock} = rest;
  const informers = new InformerFactory({...rest, client, log, meter: noMeter, minResyncMs: 0, signal});
  const schemas = informers.informer(kinds.flowSchemas);
  const levels = informers.informer(kinds.priorityLevelConfigurations);
  const dangling = new DanglingReport(client, clock, levels.lister);

  let pendingRun: Disposable | undefined;
  const later = (afterMs: number) => {
    if (signal.aborted) return;
    pendingRun ??= clock.schedule(afterMs, () => {
      pendingRun = undefined;
      return pass();
    });
  };
  const pass = async () => {
    using _ = clock.hold();
    try {
      if (!schemas.isSynced || !levels.isSynced) return later(retryMs);
      delayMs = settleMs;
      for (const schema of schemas.lister.list()) await dangling.report(schema);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({err: error}, 'failed to update the status of flow schemas');
      later(retryMs);
    }
  };
  let delayMs = startMs;
  schemas.listen(() => later(delayMs));
  levels.listen(() => later(delayMs));
  signal.addEventListener('abort', () => pendingRun?.[Symbol.dispose](), {once: true});
  informers.start();
};
