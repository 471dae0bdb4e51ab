// The environment of a container.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, EnvFromSource, EnvVar, Pod} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import {expandKnown} from '#src/model/pod/expansion.js';
import {podFieldValue, resourceFieldValue} from '#src/model/pod/field-values.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import {WaitingError, type PodVolumes} from '#src/platlet/pod/ports.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import {variableIn} from './variable-file.js';
import {linkedServices, serviceVariables, type Service} from './service-variables.js';

export interface EnvironmentParts {
  readonly objects: Pick<PodObjects, 'configMap' | 'secret'>;
  /** Returns the services of all namespaces; undefined before the first list. */
  services(): readonly Frozen<Service>[] | undefined;
  readonly naming: Naming;
  /** The addresses of the node. */
  hostAddresses(): readonly string[];
  allocatable(): Readonly<Record<string, string>>;
  readonly volumes: Pick<PodVolumes, 'readFile'>;
}

/** The pod and the addresses that its containers see. */
interface Place {
  readonly pod: Frozen<Pod>;
  readonly container: Frozen<AnyContainer>;
  readonly addresses: readonly string[];
}

/** The maximum size of all values together: Linux starts no program with more. */
const mostBytes = 2 << 20;
/** The maximum size of an environment file. */
const mostFileBytes = 64 << 10;

const waiting = (message: string, cause?: unknown): WaitingError => new WaitingError('CreateContainerConfigError', message, {cause});

const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString();

/** Returns the data of a config map or a secret; undefined if it is missing and optional. */
const dataOf = async (
  objects: EnvironmentParts['objects'],
  namespace: string,
  {
    kind,
    name = '',
    optional,
  }: {readonly kind: 'configMap' | 'secret'; readonly name: string | undefined; readonly optional: boolean | undefined},
): Promise<Readonly<Record<string, string>> | undefined> => {
  try {
    if (kind === 'configMap') return (await objects.configMap(namespace, name)).data ?? {};
    const {data = {}} = await objects.secret(namespace, name);
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decoded(value)]));
  } catch (error) {
    if (optional && isNotFound(error)) return undefined;
    throw waiting(messageOf(error), error);
  }
};

const fieldValue = ({pod, addresses}: Place, hostAddresses: readonly string[], path: string): string => {
  switch (path) {
    case 'status.hostIP':
      return hostAddresses[0] ?? '';
    case 'status.hostIPs':
      return hostAddresses.join(',');
    case 'status.podIP':
      return addresses[0] ?? '';
    case 'status.podIPs':
      return addresses.join(',');
    default: {
      const value = podFieldValue(pod, path);
      if (value === undefined) throw waiting(`unsupported fieldPath: ${path}`);
      return value;
    }
  }
};

/** Builds environments. */
export class Environments {
  readonly #parts: EnvironmentParts;

  constructor(parts: EnvironmentParts) {
    this.#parts = parts;
  }

  /** Returns the environment of a container with unique names. Throws `WaitingError`. */
  async of(place: Place): Promise<ReadonlyMap<string, string>> {
    const services = this.#serviceVariables(place.pod);
    const values = new Map<string, string>();
    for (const source of place.container.envFrom ?? []) await this.#addAll(place, source, values);
    const valueOf = (name: string): string | undefined => values.get(name) ?? services.get(name);
    let bytes = 0;
    for (const variable of place.container.env ?? []) {
      const value = variable.value ? expandKnown(variable.value, valueOf) : await this.#valueFrom(place, variable);
      if (value === undefined) continue;
      bytes += value.length;
      if (bytes > mostBytes) throw waiting(`the environment has more than ${mostBytes} bytes`);
      values.set(variable.name, value);
    }
    for (const [name, value] of services) if (!values.has(name)) values.set(name, value);
    return values;
  }

  #serviceVariables(pod: Frozen<Pod>): ReadonlyMap<string, string> {
    const {naming} = this.#parts;
    const {metadata, spec} = pod;
    // A static pod may be the API server itself, so it does not wait for services.
    const services = this.#parts.services() ?? (isStaticPod(naming, pod) ? [] : undefined);
    if (!services) throw waiting('services have not yet been read at least once, cannot construct envvars');
    const namespace = metadata?.namespace ?? '';
    return serviceVariables(linkedServices(services, {namespace, wantsLinks: spec?.enableServiceLinks !== false, self: naming.self}));
  }

  async #addAll({pod}: Place, {prefix = '', configMapRef, secretRef}: Frozen<EnvFromSource>, values: Map<string, string>): Promise<void> {
    const reference = configMapRef ?? secretRef;
    if (!reference) return;
    const {name, optional} = reference;
    const data = await dataOf(this.#parts.objects, pod.metadata?.namespace ?? '', {
      kind: configMapRef ? 'configMap' : 'secret',
      name,
      optional,
    });
    for (const [key, value] of Object.entries(data ?? {})) values.set(`${prefix}${key}`, value);
  }

  /** Returns a value from a reference; undefined if it is missing and optional. */
  async #valueFrom(place: Place, {valueFrom}: Frozen<EnvVar>): Promise<string | undefined> {
    const {fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef} = valueFrom ?? {};
    if (fieldRef) return fieldValue(place, this.#parts.hostAddresses(), fieldRef.fieldPath);
    if (resourceFieldRef) return this.#resource(place, resourceFieldRef);
    if (configMapKeyRef) return this.#key(place, 'configMap', configMapKeyRef);
    if (secretKeyRef) return this.#key(place, 'secret', secretKeyRef);
    if (fileKeyRef) return this.#fileKey(place, fileKeyRef);
    return '';
  }

  #resource(
    {pod, container}: Place,
    {resource, divisor, containerName}: {resource: string; divisor?: string; containerName?: string},
  ): string {
    const {containers = [], initContainers = []} = pod.spec ?? {};
    const of = containerName ? [...containers, ...initContainers].find(({name}) => name === containerName) : container;
    if (!of) throw waiting(`container ${containerName} not found`);
    const value = resourceFieldValue(of, resource, divisor, this.#parts.allocatable());
    if (value === undefined) throw waiting(`unsupported container resource : ${resource}`);
    return value;
  }

  async #key(
    {pod}: Place,
    kind: 'configMap' | 'secret',
    {name, key, optional}: {readonly name?: string; readonly key: string; readonly optional?: boolean},
  ): Promise<string | undefined> {
    const namespace = pod.metadata?.namespace ?? '';
    const data = await dataOf(this.#parts.objects, namespace, {kind, name, optional});
    const value = data && Object.hasOwn(data, key) ? data[key] : undefined;
    if (value === undefined && !optional)
      throw waiting(`couldn't find key ${key} in ${kind === 'configMap' ? 'ConfigMap' : 'Secret'} ${namespace}/${name ?? ''}`);
    return value;
  }

  async #fileKey(
    {pod}: Place,
    {
      volumeName,
      path,
      key,
      optional,
    }: {readonly volumeName: string; readonly path: string; readonly key: string; readonly optional?: boolean},
  ): Promise<string | undefined> {
    try {
      const content = await this.#parts.volumes.readFile?.(pod, volumeName, path, mostFileBytes);
      if (!content && !optional) throw new Error(`file ${JSON.stringify(path)} not found in volume ${JSON.stringify(volumeName)}`);
      const value = content && variableIn(content.toString(), key);
      if (value === undefined && !optional) throw new Error(`environment variable key ${JSON.stringify(key)} not found in file`);
      return value;
    } catch (error) {
      throw waiting(messageOf(error), error);
    }
  }
}
