import type {ExecutionContext} from 'ava';
import type {Kind} from '#src/api/kinds/index.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodTemplateSpec} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import {controllerOf} from '#src/model/owners.js';
import type {Plane} from '#src/plane/plane.js';
import type {Controller} from '#src/runtime/controller.js';
import {startServer, type TestApiServer} from '#test/fixtures/server.js';
import {startManager} from '#test/runtime/environment.js';
import {aPlane} from './plane.js';

/** A plane on which these controllers run, and the accounts that pods need are made. */
export const aPlaneWith = (controllers: readonly string[], args: readonly string[] = []): Promise<Plane & {readonly clock: VirtualClock}> =>
  aPlane({controllerManagerArgs: [`--controllers=serviceaccount-controller,${controllers.join(',')}`, ...args]});

/**
 * A bare server on which these controllers run, and nothing else does: days pass in no time. Their client can be made
 * to fail.
 */
export const alone = async (
  t: ExecutionContext,
  controllers: readonly Controller[],
  options: object = {},
  server: TestApiServer = startServer(),
) => {
  const env = startManager(t, controllers, {options: {...options}}, server);
  await env.start();
  const {own, meter, lines, stop} = env;
  return {...actionsOn({client: () => env.client, clock: env.clock}), own, meter, lines, stop};
};

/** The template of pods that pass every admission and that no scheduler touches. */
export const aTemplate = (labels: Record<string, string> = {app: 'a'}, image = 'example.com/app:1'): PodTemplateSpec => ({
  metadata: {labels},
  spec: {schedulerName: 'by-hand', containers: [{name: 'c', image}]},
});

export const namespace = 'default';

/** Actions of a test on a plane: shorthand for its administrator's requests, each followed until the plane is idle. */
export const actionsOn = (plane: {client(): Client; readonly clock: VirtualClock}) => {
  const client = plane.client();
  const {clock} = plane;
  const pods = client.resource(kinds.pods);
  const settle = async <T>(done: T): Promise<T> => {
    await clock.drain();
    return done;
  };
  const create = async <T extends KubeObject>(kind: Kind<T>, object: T) =>
    settle(await client.resource(kind).create({...object, metadata: {namespace, ...object.metadata}}));
  const get = <T extends KubeObject>(kind: Kind<T>, name: string) => client.resource(kind).get(name, {namespace});
  const patch = async <T extends KubeObject>(kind: Kind<T>, name: string, body: object, subresource?: string) =>
    settle(await client.resource(kind).patch(name, 'merge', body, {namespace, ...(subresource ? {subresource} : {})}));
  const remove = async (kind: Kind, name: string, options: {propagationPolicy?: string; gracePeriodSeconds?: number} = {}) =>
    settle(await client.resource(kind).delete(name, {namespace, ...options}));
  const list = async <T extends KubeObject>(kind: Kind<T>) => (await client.resource(kind).list({namespace})).items;
  /** Acts as the node: the pod runs, and is ready by default, since now. */
  const runs = (pod: Pod | string, {phase = 'Running', ready = true}: {phase?: string; ready?: boolean} = {}) =>
    patch(
      kinds.pods,
      typeof pod === 'string' ? pod : pod.metadata!.name!,
      {status: {phase, conditions: [{type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: wireTime(clock.now())}]}},
      'status',
    );
  const podsOf = async (owner: string) => (await list(kinds.pods)).filter(pod => controllerOf(pod)?.name === owner);
  const eventsOn = async (name: string) =>
    (await list(kinds.coreEvents))
      .filter(({involvedObject}) => involvedObject.name === name)
      .map(({type, reason, message}) => `${type} ${reason} ${message}`);
  return {client, clock, pods, create, get, patch, remove, list, runs, podsOf, eventsOn};
};
export type PlaneActions = ReturnType<typeof actionsOn>;
