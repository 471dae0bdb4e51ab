import {notFound} from '#src/api/status.js';
import type {ConfigMap, Secret} from '#src/api/types.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';

/** Objects in memory, by `namespace/name`. */
export interface MemoryObjects extends PodObjects {
  readonly configMaps: Map<string, ConfigMap>;
  readonly secrets: Map<string, Secret>;
}

export const memoryObjects = (
  given: {configMaps?: Record<string, Record<string, string>>; secrets?: Record<string, Record<string, string>>} = {},
): MemoryObjects => {
  const encoded = (data: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  const configMaps = new Map(
    Object.entries(given.configMaps ?? {}).map(([name, data]): [string, ConfigMap] => [`default/${name}`, {data}]),
  );
  const secrets = new Map(
    Object.entries(given.secrets ?? {}).map(([name, data]): [string, Secret] => [`default/${name}`, {data: encoded(data)}]),
  );
  const found = async <T>(objects: ReadonlyMap<string, T>, resource: string, namespace: string, name: string): Promise<T> => {
    const object = objects.get(`${namespace}/${name}`);
    if (!object) throw notFound({group: '', resource}, name);
    return object;
  };
  return {
    configMaps,
    secrets,
    configMap: (namespace, name) => found(configMaps, 'configmap', namespace, name) as ReturnType<PodObjects['configMap']>,
    secret: (namespace, name) => found(secrets, 'secret', namespace, name) as ReturnType<PodObjects['secret']>,
    register() {},
    unregister() {},
  };
};
