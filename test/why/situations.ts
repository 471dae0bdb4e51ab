import type {KubeObject} from '#src/api/types.js';
import type {Pod} from '#src/api/pod.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import type {Plane} from '#src/plane/plane.js';
import {explain, type Explanation} from '#src/why/explain.js';
import {Discovery} from '#src/why/facts/discovery.js';
import {reference} from '#src/why/facts/reference.js';
import {linesOf} from '#src/why/text.js';
import {aPlane, type TestPlaneOptions} from '#test/controllers/plane.js';

/** A plane on which objects get stuck, in the names of Kubernetes. */
export class Situations implements AsyncDisposable {
  readonly plane: Plane & {readonly clock: VirtualClock};
  readonly client: Client;

  private constructor(plane: Plane & {readonly clock: VirtualClock}) {
    this.plane = plane;
    this.client = plane.client();
  }

  static async start(controllers: readonly string[], options: Omit<TestPlaneOptions, 'controllers'> = {}): Promise<Situations> {
    const plane = await aPlane({naming: 'kubernetes', controllers: ['serviceaccount-controller', ...controllers], nodes: 0, ...options});
    return new Situations(plane);
  }

  /** Creates objects one after the other; those of a namespaced kind in `default` unless they say otherwise. */
  async create<T extends KubeObject>(kind: Kind<T>, ...objects: readonly T[]): Promise<void> {
    for (const {metadata, ...rest} of objects) {
      const object = {...rest, metadata: {...(kind.namespaced ? {namespace: 'default'} : {}), ...metadata}} as unknown as T;
      await this.client.resource(kind).create(object);
    }
  }

  async patch(
    kind: Kind,
    name: string,
    body: object,
    {namespace = 'default', subresource}: {namespace?: string; subresource?: string} = {},
  ): Promise<void> {
    await this.client
      .resource(kind)
      .patch(name, 'merge', body, {...(kind.namespaced ? {namespace} : {}), ...(subresource ? {subresource} : {})});
  }

  delete(kind: Kind, name: string, options: {propagationPolicy?: 'Foreground'; namespace?: string} = {}): Promise<unknown> {
    return this.client.resource(kind).delete(name, {...(kind.namespaced ? {namespace: 'default'} : {}), ...options});
  }

  async why(
    kind: Kind,
    name: string,
    {namespace = 'default', client = this.client}: {namespace?: string; client?: Client} = {},
  ): Promise<Explanation> {
    const discovery = await Discovery.of(client);
    return explain(client, reference(kind, name, namespace), {discovery, now: this.plane.clock.now()});
  }

  /** The answer, and what would end it; after a while has passed. */
  async answer(kind: Kind, name: string, afterMs = 0, namespace = 'default'): Promise<readonly [answer: string, ends: string | undefined]> {
    if (afterMs > 0) await this.plane.clock.advance(afterMs);
    const {answer, ends} = await this.why(kind, name, {namespace});
    return [answer, ends];
  }

  async lines(kind: Kind, name: string): Promise<readonly string[]> {
    return linesOf(await this.why(kind, name), this.plane.clock.now());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.plane.stop();
  }
}

export interface SimplePod extends Partial<NonNullable<Pod['spec']>> {
  readonly behavior?: string;
  readonly labels?: Record<string, string>;
}

/** A pod with one container `app`. */
export const aPod = (name: string, {behavior, labels, ...spec}: SimplePod = {}): Pod => ({
  metadata: {name, ...(labels ? {labels} : {}), ...(behavior ? {annotations: {'simulation.kubernetes.io/behavior': behavior}} : {})},
  spec: {containers: [{name: 'app', image: 'nginx:1.27'}], ...spec},
});

/** The template of a workload's pods, which have the label `app`. */
export const aTemplate = (app: string, {behavior, labels, ...spec}: SimplePod = {}) => ({
  metadata: {labels: {app, ...labels}, ...(behavior ? {annotations: {'simulation.kubernetes.io/behavior': behavior}} : {})},
  spec: {containers: [{name: 'app', image: 'nginx:1.27'}], ...spec},
});

export {kinds};
