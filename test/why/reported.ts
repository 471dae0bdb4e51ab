import test from 'ava';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {aPod, kinds, Situations, type SimplePod} from './situations.js';

// What controllers, agents and servers have reported: the test writes it in their place.

/** What was arranged, and how it is explained. */
export interface Row {
  readonly title: string;
  readonly kind: Kind;
  readonly name: string;
  readonly arrange: (at: Reported) => Promise<unknown>;
  readonly answer: string;
  readonly ends: string | undefined;
}

export const reportedAt = '2026-01-01T00:00:30Z';

export const condition = (type: string, status: string, reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: reportedAt,
});

/** A pod on the node `n`. */
export const bound = (name: string, spec: SimplePod = {}) => aPod(name, {nodeName: 'n', ...spec});

/** The status of a pod whose container runs and is ready. */
export const running = {
  phase: 'Running',
  conditions: [condition('Ready', 'True', '')],
  containerStatuses: [
    {name: 'app', image: 'nginx', imageID: '', ready: true, started: true, restartCount: 0, state: {running: {startedAt: reportedAt}}},
  ],
};

/** A plane without controllers and agents, in whose place a test writes. */
export class Reported {
  readonly situations: Situations;

  constructor(situations: Situations) {
    this.situations = situations;
  }

  /** Creates an object and writes its status. */
  async put<T extends KubeObject>(kind: Kind<T>, object: T, status?: object): Promise<void> {
    await this.situations.create(kind, object);
    if (status) await this.situations.patch(kind, object.metadata!.name!, {status}, {subresource: 'status'});
  }

  delete(kind: Kind, name: string): Promise<unknown> {
    return this.situations.delete(kind, name);
  }

  /** Writes an event about an object in `default`. */
  async event(kind: Kind, name: string, reason: string, message: string): Promise<void> {
    const {metadata} = await this.situations.client.resource(kind).get(name, kind.namespaced ? {namespace: 'default'} : {});
    const involvedObject = {kind: kind.kind, namespace: 'default', name, uid: metadata!.uid!};
    await this.situations.create(kinds.coreEvents, {
      metadata: {name: `${kind.singular}-${name}.${reason.toLowerCase()}`},
      involvedObject,
      reason,
      message,
      type: 'Warning',
      firstTimestamp: reportedAt,
      lastTimestamp: reportedAt,
    });
  }

  async node(name: string, {taints = [] as object[], ready = 'True', conditions = [] as object[]} = {}): Promise<void> {
    const capacity = {cpu: '8', memory: '8Gi', pods: '100'};
    const reported = ready ? [condition('Ready', ready, 'Reported', 'the agent said so'), ...conditions] : [];
    await this.put(kinds.nodes, {metadata: {name}}, {capacity, allocatable: capacity, conditions: reported});
    await this.situations.patch(kinds.nodes, name, {spec: {taints}});
  }
}

/** Declares a test of each row, on one plane. */
export const explains = async (rows: readonly Row[]): Promise<void> => {
  const situations = await Situations.start([]);
  const at = new Reported(situations);
  test.before(() => at.node('n'));
  test.after.always(() => situations[Symbol.asyncDispose]());
  for (const {title, kind, name, arrange, answer, ends} of rows) {
    test.serial(`${kind.kind}: ${title}`, async t => {
      await arrange(at);

      const found = await situations.why(kind, name);
      t.deepEqual([found.answer, found.ends], [answer, ends]);
    });
  }
};
