// The files of volumes that are made from API objects.

import type {Frozen} from '#src/api/key.js';
import type {DownwardAPIVolumeFile, KeyToPath, Pod, VolumeProjection} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import {containersOf} from '#src/model/pod/containers.js';
import {podFieldValue, resourceFieldValue} from '#src/model/pod/field-values.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import type {PayloadFile} from './atomic-writer.js';
import type {PodTokens} from './tokens.js';

export interface PayloadParts {
  readonly objects: Pick<PodObjects, 'configMap' | 'secret'>;
  readonly tokens: Pick<PodTokens, 'get'>;
  allocatable(): Readonly<Record<string, string>>;
}

type Files = Map<string, PayloadFile>;

interface KeySource {
  readonly name: string;
  readonly items?: readonly Frozen<KeyToPath>[];
  readonly optional?: boolean;
}

const defaultMode = 0o644;
const ownedMode = 0o600;
const tokenSeconds = 3600;

/** Returns the user that all containers of a pod run as; undefined if they differ or one is unset. */
export const commonUser = ({spec}: Frozen<Pod>): number | undefined => {
  const users = new Set(
    containersOf(spec as never).map(({securityContext}) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser),
  );
  const [user] = users;
  return users.size === 1 ? user : undefined;
};

const keyFiles = (data: ReadonlyMap<string, Uint8Array>, {items, optional}: KeySource, mode: number, what: string): Files => {
  if (!items) return new Map([...data].map(([key, content]) => [key, {content, mode}]));
  const files: Files = new Map();
  for (const {key, path, mode: own} of items) {
    const content = data.get(key);
    if (content) files.set(path, {content, mode: own ?? mode});
    else if (!optional) throw new Error(`references non-existent ${what} key: ${key}`);
  }
  return files;
};

/** Builds the files of volumes of a node's pods. */
export class Payloads {
  readonly #parts: PayloadParts;

  constructor(parts: PayloadParts) {
    this.#parts = parts;
  }

  async configMap(pod: Frozen<Pod>, source: KeySource, mode = defaultMode): Promise<Files> {
    const {data = {}, binaryData = {}} = await this.#orNothing(source, () => this.#parts.objects.configMap(namespaceOf(pod), source.name));
    const contents = new Map<string, Uint8Array>();
    for (const [key, text] of Object.entries(data)) contents.set(key, Buffer.from(text));
    for (const [key, base64] of Object.entries(binaryData)) contents.set(key, Buffer.from(base64, 'base64'));
    return keyFiles(contents, source, mode, 'config');
  }

  async secret(pod: Frozen<Pod>, source: KeySource, mode = defaultMode): Promise<Files> {
    const {data = {}} = await this.#orNothing(source, () => this.#parts.objects.secret(namespaceOf(pod), source.name));
    return keyFiles(new Map(Object.entries(data).map(([key, base64]) => [key, Buffer.from(base64, 'base64')])), source, mode, 'secret');
  }

  downward(pod: Frozen<Pod>, items: readonly Frozen<DownwardAPIVolumeFile>[] = [], mode = defaultMode): Files {
    const files: Files = new Map();
    for (const item of items) files.set(item.path, {content: Buffer.from(this.#downwardValue(pod, item)), mode: item.mode ?? mode});
    return files;
  }

  /** Returns the files of all sources; later sources override earlier ones. */
  async projected(pod: Frozen<Pod>, sources: readonly Frozen<VolumeProjection>[], mode = defaultMode): Promise<Files> {
    const files: Files = new Map();
    const errors: string[] = [];
    for (const source of sources) {
      try {
        for (const [path, file] of await this.#projection(pod, source, mode)) files.set(path, file);
      } catch (error) {
        errors.push(messageOf(error));
      }
    }
    if (errors.length > 0) throw new Error(errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`);
    return files;
  }

  #projection(pod: Frozen<Pod>, source: Frozen<VolumeProjection>, mode: number): Promise<Files> | Files {
    const {configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate} = source;
    if (configMap) return this.configMap(pod, {...configMap, name: configMap.name ?? ''}, mode);
    if (secret) return this.secret(pod, {...secret, name: secret.name ?? ''}, mode);
    if (downwardAPI) return this.downward(pod, downwardAPI.items, mode);
    if (serviceAccountToken) return this.#token(pod, serviceAccountToken, mode);
    if (clusterTrustBundle) throw new Error('projected volumes with clusterTrustBundle are not supported');
    if (podCertificate) throw new Error('projected volumes with podCertificate are not supported');
    return new Map();
  }

  async #token(
    pod: Frozen<Pod>,
    {audience, expirationSeconds = tokenSeconds, path}: {audience?: string; expirationSeconds?: number; path: string},
    mode: number,
  ): Promise<Files> {
    const uid = commonUser(pod);
    const isOwned = uid !== undefined || pod.spec?.securityContext?.fsGroup !== undefined;
    const token = await this.#parts.tokens.get(pod, {audience, expirationSeconds});
    return new Map([[path, {content: Buffer.from(token), mode: isOwned ? ownedMode : mode, ...(uid === undefined ? {} : {uid})}]]);
  }

  #downwardValue(pod: Frozen<Pod>, {fieldRef, resourceFieldRef}: Frozen<DownwardAPIVolumeFile>): string {
    if (fieldRef) {
      const value = podFieldValue(pod, fieldRef.fieldPath);
      if (value === undefined) throw new Error(`unsupported fieldPath: ${fieldRef.fieldPath}`);
      return value;
    }
    if (!resourceFieldRef) return '';
    const {containerName, resource, divisor} = resourceFieldRef;
    const container = containersOf(pod.spec as never).find(({name}) => name === containerName);
    if (!container) throw new Error(`container ${containerName} not found`);
    const value = resourceFieldValue(container, resource, divisor, this.#parts.allocatable());
    if (value === undefined) throw new Error(`unsupported container resource : ${resource}`);
    return value;
  }

  async #orNothing<T extends object>({optional}: KeySource, read: () => Promise<T>): Promise<T | Partial<T>> {
    try {
      return await read();
    } catch (error) {
      if (optional && isNotFound(error)) return {};
      throw error;
    }
  }
}

const namespaceOf = ({metadata}: Frozen<Pod>): string => metadata?.namespace ?? '';
