import {customInstances} from '#src/apiserver/custom/instances.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {establishLoop} from '#src/controlplane/definitions/establish.js';
import {finalizeLoop} from '#src/controlplane/definitions/finalize.js';
import {namesLoop} from '#src/controlplane/definitions/names.js';
import {serverLoops} from '#src/controlplane/loops.js';
import {startWire} from './wire.js';

export const definitions = '/apis/apiextensions.plat.io/v1/customresourcedefinitions';

/** A version of a definition: a name, a schema of `spec`, and other fields. */
export interface VersionSketch {
  readonly name?: string;
  readonly spec?: object;
  readonly status?: object;
  readonly [more: string]: unknown;
}

/** A version served and stored under the name `v1` by default. */
export const aVersion = ({name = 'v1', spec = {}, status, ...more}: VersionSketch = {}) => ({
  name,
  served: true,
  storage: true,
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {spec: {type: 'object', ...spec}, ...(status ? {status: {type: 'object', ...status}} : {})},
    },
  },
  ...more,
});

/** A definition of widgets in `example.com`. */
export const aDefinition = (versions: readonly object[] = [aVersion()], spec: object = {}) => ({
  apiVersion: 'apiextensions.plat.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {name: 'widgets.example.com'},
  spec: {group: 'example.com', scope: 'Namespaced', names: {plural: 'widgets', kind: 'Widget'}, versions, ...spec},
});

export const widgets = '/apis/example.com/v1/namespaces/default/widgets';
export const aWidget = (name: string, spec: object = {}, rest: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: {name},
  spec,
  ...rest,
});

/** A server with custom resources, and the controllers that establish definitions. */
export const startCustom = async (options: Parameters<typeof startWire>[0] = {}) => {
  const env = await startWire(options);
  const stop = new AbortController();
  const loops = serverLoops(
    {
      client: env.clientOf(),
      clock: env.clock,
      random: seededRandom(1),
      log: noLog,
      meter: noMeter,
      gate: () => false,
      watchSeconds: 86_400,
    },
    stop.signal,
  );
  for (const loop of [
    namesLoop,
    establishLoop,
    finalizeLoop(customInstances(env.server.registry, env.server.custom, {name: 'system:apiserver', groups: ['system:masters']})),
  ])
    await loops.run(loop);
  await env.server.custom.follow(stop.signal);
  /** Defines something and waits until it is served. */
  const define = async (definition: object = aDefinition()) => {
    const made = await env.post(definitions, definition);
    if (made.status !== 201) throw new Error(made.text);
    await env.clock.drain();
  };
  /** Changes a definition. */
  const redefine = async (definition: ReturnType<typeof aDefinition>) => {
    const made = await env.patch(`${definitions}/${definition.metadata.name}`, {spec: definition.spec});
    if (made.status !== 200) throw new Error(made.text);
    await env.clock.drain();
  };
  return {...env, define, redefine, [Symbol.dispose]: () => stop.abort()};
};
