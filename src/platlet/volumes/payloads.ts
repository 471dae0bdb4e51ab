// The files of volumes that are made from API objects.

import type {Frozen} from '#src/api/key.js';
import type {DownwardAPIVolumeFile, KeyToPath, Pod, Volume, VolumeProjection} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import {containersOf} from '#src/model/pod/containers.js';
import {podFieldValue, resourceFieldValue} from '#src/model/pod/field-values.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import type {PodCertificates} from '#src/platlet/pod-certificates/pod-certificates.js';
import type {CertificateProjection} from '#src/platlet/pod-certificates/projections.js';
import type {PayloadFile} from './atomic-writer.js';
import type {PodTokens} from './tokens.js';
import type {TrustBundles} from './trust-bundles.js';

export interface PayloadParts {
  readonly objects: Pick<PodObjects, 'configMap' | 'secret'>;
  readonly tokens: Pick<PodTokens, 'get'>;
  readonly bundles: TrustBundles;
  readonly certificates: Pick<PodCertificates, 'get'>;
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

/**
 * Returns files with secrets, which only the common user and the group of a pod may read. Those without a path are left
 * out.
 */
const ownedFiles = (pod: Frozen<Pod>, mode: number, texts: readonly (readonly [path: string | undefined, text: string])[]): Files => {
  const uid = commonUser(pod);
  const isOwned = uid !== undefined || pod.spec?.securityContext?.fsGroup !== undefined;
  const rest = {mode: isOwned ? ownedMode : mode, ...(uid === undefined ? {} : {uid})};
  return new Map(texts.flatMap(([path, text]) => (path ? [[path, {content: Buffer.from(text), ...rest}] as const] : [])));
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
  async projected(
    pod: Frozen<Pod>,
    {name, projected: {sources = [], defaultMode: mode = defaultMode} = {}}: Pick<Frozen<Volume>, 'name' | 'projected'>,
  ): Promise<Files> {
    const files: Files = new Map();
    const errors: string[] = [];
    for (const [index, source] of sources.entries()) {
      try {
        const {podCertificate} = source;
        const projection = podCertificate
          ? this.#certificate({pod, volume: name, index}, podCertificate, mode)
          : this.#projection(pod, source, mode);
        for (const [path, file] of await projection) files.set(path, file);
      } catch (error) {
        errors.push(messageOf(error));
      }
    }
    if (errors.length > 0) throw new Error(errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`);
    return files;
  }

  #projection(pod: Frozen<Pod>, source: Frozen<VolumeProjection>, mode: number): Promise<Files> | Files {
    const {configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle} = source;
    if (configMap) return this.configMap(pod, {...configMap, name: configMap.name ?? ''}, mode);
    if (secret) return this.secret(pod, {...secret, name: secret.name ?? ''}, mode);
    if (downwardAPI) return this.downward(pod, downwardAPI.items, mode);
    if (serviceAccountToken) return this.#token(pod, serviceAccountToken, mode);
    if (clusterTrustBundle) return this.#trustAnchors(pod, clusterTrustBundle, mode);
    return new Map();
  }

  async #token(
    pod: Frozen<Pod>,
    {audience, expirationSeconds = tokenSeconds, path}: {audience?: string; expirationSeconds?: number; path: string},
    mode: number,
  ): Promise<Files> {
    const token = await this.#parts.tokens.get(pod, {audience, expirationSeconds});
    return ownedFiles(pod, mode, [[path, token]]);
  }

  async #trustAnchors(
    pod: Frozen<Pod>,
    {name, signerName, labelSelector, optional = false, path}: NonNullable<Frozen<VolumeProjection>['clusterTrustBundle']>,
    mode: number,
  ): Promise<Files> {
    const {bundles} = this.#parts;
    if (name === undefined && signerName === undefined)
      throw new Error('ClusterTrustBundle projection requires either name or signerName to be set');
    const anchors = await (name === undefined
      ? bundles.bySigner(signerName ?? '', labelSelector, optional)
      : bundles.byName(name, optional));
    return ownedFiles(pod, mode, [[path, anchors]]);
  }

  #certificate(
    projection: CertificateProjection,
    {credentialBundlePath, keyPath, certificateChainPath}: NonNullable<Frozen<VolumeProjection>['podCertificate']>,
    mode: number,
  ): Files {
    const {key, chain} = this.#parts.certificates.get(projection);
    return ownedFiles(projection.pod, mode, [
      [credentialBundlePath, key + chain],
      [keyPath, key],
      [certificateChainPath, chain],
    ]);
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
